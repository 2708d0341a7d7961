"""Random ITCH messages, built to go where errors hide."""
import heapq
import random

from tickgate.spec import itch50
from tickgate.spec.hashing import NEAR
from tickgate.twin.binary import writer

from .profiles import PROFILES, Profile

_PACK = {m.code: writer(m).pack for m in itch50.MESSAGES}
_COMMON_SIZE = itch50.BY_CODE[b"A"]["timestamp"].end
_STOCK, _MPID = b"TICKGATE", b"MPID"
_QUIET = b"RLVKJBINO"           # known types without effect on book, trades or state
_UNKNOWN = [code for code in range(256) if bytes([code]) not in itch50.BY_CODE]
_TOP = (1 << 32) - 1


class _Orders:
    """What one symbol's live orders are thought to be. Losses of the order table are not known here: later messages then name unknown orders."""

    def __init__(self):
        self.live = {}             # reference: [sell, shares, price]
        self.listed = []           # references, dead ones too
        self.heaps = ([], [])      # best first, dead ones too

    def put(self, reference, sell, shares, price):
        if reference not in self.live:
            self.live[reference] = [sell, shares, price]
            self.listed.append(reference)
            heapq.heappush(self.heaps[sell], (price if sell else -price, reference))

    def any(self, rng):
        """Some live reference, or ``None``."""
        while self.listed:
            k = rng.randrange(len(self.listed))
            if self.listed[k] in self.live:
                return self.listed[k]
            self.listed[k] = self.listed[-1]
            self.listed.pop()
        return None

    def best(self, sell):
        """Reference of an order at the best price of a side, or ``None``."""
        heap = self.heaps[sell]
        while heap:
            key, reference = heap[0]
            order = self.live.get(reference)
            if order and order[0] == sell and order[2] == (key if sell else -key):
                return reference
            heapq.heappop(heap)
        return None


class Maker:
    """Random messages from a seed. ``symbols``: ``Symbol``s that the card tracks; ``profile``: a name of ``PROFILES`` or a ``Profile``."""

    def __init__(self, seed, *, preset, symbols, profile="mixed"):
        if not isinstance(profile, Profile):
            if profile not in PROFILES:
                raise ValueError(f"no profile {profile!r}; there are {', '.join(PROFILES)}")
            name, profile = profile, PROFILES[profile]
        else:
            name = profile.doc
        self.rng = random.Random(f"messages {name} {seed}")
        self.preset, self.profile = preset, profile
        self.symbols = list(symbols)[:profile.symbols]
        self._tracked = {s.locate for s in symbols}
        self._orders = {s.locate: _Orders() for s in self.symbols}
        self._dead = []                                    # references that are free again
        self._last = self.rng.randrange(1, 1 << min(36, preset.reference_bits - 1))
        self._time = self.rng.randrange(1 << 44)
        self._names = list(profile.weights)
        self._cumulative = [sum(list(profile.weights.values())[:k + 1]) for k in range(len(self._names))]
        self._made = 0
        self._ready = []                                   # made, not handed out yet

    def messages(self, count):
        """The next ``count`` messages, a list of bytes; the next call goes on from there."""
        while len(self._ready) < count:
            self._ready += self._next()
        out, self._ready = self._ready[:count], self._ready[count:]
        return out

    # ---- choices

    def _next(self):
        """The next action's messages."""
        rng, profile = self.rng, self.profile
        action = rng.choices(self._names, cum_weights=self._cumulative)[0]
        if profile.phase and rng.random() < 0.95:
            action = ("add", "sweep")[self._made // profile.phase % 2]
        symbol = rng.choice(self.symbols)
        if action == "add" and len(self._orders[symbol.locate].live) > profile.crowd:
            action = "delete"
        messages = getattr(self, f"_{action}")(symbol)
        if profile.longer and rng.random() < profile.longer:
            messages[-1] = messages[-1] + rng.randbytes(rng.randrange(1, 20)) if len(messages[-1]) >= _COMMON_SIZE else messages[-1]
        if profile.short and rng.random() < profile.short:
            messages[-1] = messages[-1][:rng.randrange(1, max(2, len(messages[-1])))]
        self._made += len(messages)
        return messages

    def _pack(self, code, locate, *fields):
        self._time += self.rng.randrange(1 << 20)
        return _PACK[code](code, locate, self._made & 0xFFFF, (self._time & (1 << 48) - 1).to_bytes(6, "big"), *fields)

    def _shares(self):
        rng = self.rng
        if rng.random() < self.profile.extreme:
            return rng.choice((0, _TOP, _TOP, _TOP - 1, _TOP - rng.randrange(1000), 1 << 31))
        return rng.choice((1, 100, 100, 200, rng.randrange(1, 1000), rng.randrange(1, 1 << 20)))

    def _price(self, symbol, sell):
        rng, profile = self.rng, self.profile
        ticks, tick = self.preset.ticks, symbol.tick
        end = symbol.base + ticks * tick
        if rng.random() < profile.outside:
            far = (0, symbol.base - tick, symbol.base - 1, symbol.base - rng.randrange(1, 1 << 20), end, end + 1, end + tick,
                   end + rng.randrange(1 << 20), _TOP, end - 1, symbol.base + 1, symbol.base + rng.randrange(ticks * tick))
            return min(max(rng.choice(far), 0), _TOP)
        stride = min(profile.stride, ticks // 16 + 1)       # a small ladder still has a few levels
        levels = min(profile.levels, ticks // stride)
        level = rng.randrange(levels)
        if rng.random() < profile.apart:
            level = (level + sell * levels) // 2
        return symbol.base + tick * min(ticks - 1, level * stride)

    def _new_reference(self, orders):
        """A reference for a new order. Mostly fresh; some were used before, some live elsewhere, and some (``wrong``) are live in this book."""
        rng, profile, bits = self.rng, self.profile, self.preset.reference_bits
        if rng.random() < profile.wrong:
            return rng.choice((orders.any(rng) or 0, rng.getrandbits(64), rng.getrandbits(64)))
        if rng.random() < profile.reuse:
            other = self._orders[rng.choice(self.symbols).locate]
            old = rng.choice(self._dead) if self._dead and rng.random() < 0.7 else other.any(rng)
            if old is not None and old not in orders.live:
                return old
        if profile.collide:
            hashed = min(self.preset.index_bits + NEAR, bits - 1)
            return (rng.getrandbits(bits - hashed) << hashed) | rng.randrange(24)
        if rng.random() < profile.dense:
            self._last = (self._last + rng.choice((1, 1, 2, 3, 70))) & (1 << bits) - 1
            return self._last
        return rng.getrandbits(bits)

    def _old_reference(self, orders, best=0.3):
        """A live order's reference, at the best price with probability ``best``, or (``wrong``) one that is not live; ``None``: there is none."""
        rng = self.rng
        reference = orders.best(rng.randrange(2)) if rng.random() < best else None
        reference = orders.any(rng) if reference is None else reference
        if rng.random() >= self.profile.wrong:
            return reference
        other = self._orders[rng.choice(self.symbols).locate].any(rng)
        return rng.choice((
            rng.getrandbits(64), rng.getrandbits(self.preset.reference_bits),
            rng.choice(self._dead) if self._dead else 0,
            other or 1,
            (reference or 0) ^ 1 << rng.randrange(64)))          # one bit off: a tag that is not compared whole shows

    def _taken(self, orders, reference):
        """Shares for an execute or cancel: all, some, or (``overfill``) more."""
        rng = self.rng
        order = orders.live.get(reference)
        if order is None:
            return self._shares()
        have = order[1]
        if rng.random() < self.profile.overfill:
            return min(_TOP, have + rng.choice((1, 1, 100, 1 << 31)))
        return have if have < 2 or rng.random() < 0.4 else rng.choice((1, have - 1, rng.randrange(1, have)))

    # ---- what happens to the orders

    def _drop(self, orders, reference):
        if orders.live.pop(reference, None):
            self._dead.append(reference)
            if len(self._dead) > 64:
                self._dead.pop(self.rng.randrange(48))

    def _reduce(self, orders, reference, shares):
        order = orders.live.get(reference)
        if order:
            order[1] -= shares
            if order[1] <= 0:
                self._drop(orders, reference)

    # ---- actions: each returns at least one message

    def _add(self, symbol):
        rng, profile, orders = self.rng, self.profile, self._orders[symbol.locate]
        reference, sell, shares = self._new_reference(orders), rng.randrange(2), self._shares()
        price = self._price(symbol, sell)
        if not reference >> self.preset.reference_bits:
            orders.put(reference, sell, shares, price)
        mark = b"BS"[sell] if rng.random() >= profile.wrong / 4 else rng.randrange(128) * 2 + sell     # only its lowest bit counts
        fields = (reference, bytes([mark]), shares, _STOCK, price)
        return [self._pack(b"F", symbol.locate, *fields, _MPID) if rng.random() < 0.15 else self._pack(b"A", symbol.locate, *fields)]

    def _execute(self, symbol):
        rng, orders = self.rng, self._orders[symbol.locate]
        reference = self._old_reference(orders, best=0.6)
        if reference is None:
            return self._add(symbol)
        shares = self._taken(orders, reference)
        self._reduce(orders, reference, shares)
        if rng.random() < 0.3:
            return [self._pack(b"C", symbol.locate, reference, shares, self._made, rng.choice((b"Y", b"N")), self._price(symbol, 0))]
        return [self._pack(b"E", symbol.locate, reference, shares, self._made)]

    def _cancel(self, symbol):
        orders = self._orders[symbol.locate]
        reference = self._old_reference(orders)
        if reference is None:
            return self._add(symbol)
        shares = self._taken(orders, reference)
        self._reduce(orders, reference, shares)
        return [self._pack(b"X", symbol.locate, reference, shares)]

    def _delete(self, symbol, best=0.2):
        orders = self._orders[symbol.locate]
        reference = self._old_reference(orders, best)
        if reference is None:
            return self._add(symbol)
        self._drop(orders, reference)
        return [self._pack(b"D", symbol.locate, reference)]

    def _sweep(self, symbol):
        """The best goes, sometimes level after level."""
        run = self.rng.choice((1, 1, 1, 2, 5))
        return [message for _ in range(run) for message in self._delete(symbol, best=1.0)]

    def _pair(self, symbol):
        """An execute or cancel, and right after it the delete of what is left."""
        orders = self._orders[symbol.locate]
        reference = orders.any(self.rng)
        if reference is None or orders.live[reference][1] < 2:
            return self._add(symbol)
        shares = self.rng.randrange(1, orders.live[reference][1])
        first = (b"X", symbol.locate, reference, shares) if self.rng.random() < 0.5 else (b"E", symbol.locate, reference, shares, self._made)
        self._drop(orders, reference)
        return [self._pack(*first), self._pack(b"D", symbol.locate, reference)]

    def _replace(self, symbol):
        """One to four replaces in a chain: price kept, moved or outside; sometimes (``wrong``) to itself or to a live reference."""
        rng, orders, out = self.rng, self._orders[symbol.locate], []
        reference = self._old_reference(orders, best=0.5)
        for _ in range(rng.choice((1, 1, 2, 4))):
            if reference is None:
                break
            old = orders.live.get(reference)
            new = reference if rng.random() < self.profile.wrong / 4 else self._new_reference(orders)
            sell = old[0] if old else 0
            price = old[2] if old and rng.random() < 0.4 else self._price(symbol, sell)
            shares = old[1] if old and rng.random() < 0.3 else self._shares()
            shares = max(0, min(shares, _TOP))
            out.append(self._pack(b"U", symbol.locate, reference, new, shares, price))
            if old:
                is_free = new not in orders.live and not new >> self.preset.reference_bits
                self._drop(orders, reference)
                if is_free:
                    orders.put(new, sell, shares, price)
            reference = new if new in orders.live else None
        return out or self._add(symbol)

    def _trade(self, symbol):
        rng = self.rng
        if rng.random() < 0.7:
            return [self._pack(b"P", symbol.locate, 0, rng.choice((b"B", b"S")), self._shares(), _STOCK, self._price(symbol, 0), self._made)]
        return [self._pack(b"Q", symbol.locate, rng.choice((0, 100, rng.getrandbits(64))), _STOCK, self._price(symbol, 1), self._made,
                           rng.choice((b"O", b"C", b"H", b"I")))]

    def _status(self, symbol):
        rng, locate = self.rng, symbol.locate
        code = rng.choice((b"S", b"W", b"H", b"H", b"Y", b"Y", b"h", b"h"))
        if code == b"S":
            return [self._pack(code, 0, rng.choice((b"O", b"S", b"Q", b"M", b"E", b"C", b"?", b"o")))]
        if code == b"W":
            return [self._pack(code, rng.choice((0, locate)), rng.choice((b"1", b"2", b"3")))]
        if code == b"H":
            return [self._pack(code, locate, _STOCK, rng.choice((b"T", b"T", b"H", b"P", b"Q", b"?", b"t")), b" ", b"LUDP")]
        if code == b"Y":
            return [self._pack(code, locate, _STOCK, rng.choice((b"0", b"1", b"2", b"9")))]
        return [self._pack(code, locate, _STOCK, rng.choice((b"Q", b"Q", b"B", b"X")), rng.choice((b"H", b"T", b"T", b"?")))]

    def _quiet(self, symbol):
        """A known type that changes nothing, random inside."""
        code = bytes([self.rng.choice(_QUIET)])
        return [self._stamp(code, symbol.locate, itch50.BY_CODE[code].size)]

    def _odd(self, symbol):
        """Nothing, a few bytes, or a type that is not known; and known types cut short that change no book."""
        rng = self.rng
        kind = rng.randrange(4)
        if kind == 0:
            return [b""]
        if kind == 1:
            return [bytes([rng.choice(_QUIET + b"PQSWHYh")]) + rng.randbytes(rng.randrange(_COMMON_SIZE - 1))]
        if kind == 2:
            size = rng.choice((11, 12, 19, 36, rng.randrange(_COMMON_SIZE, 64), rng.randrange(_COMMON_SIZE, 300)))
            return [self._stamp(bytes([rng.choice(_UNKNOWN)]), symbol.locate, size)]
        code = bytes([rng.choice(_QUIET + b"PQSWHYh")])
        return [self._stamp(code, symbol.locate, rng.randrange(_COMMON_SIZE, itch50.BY_CODE[code].size))]

    def _untracked(self, symbol):
        """A book, trade or status message of a symbol that is not tracked, sometimes one bit beside the tracked one."""
        rng = self.rng
        locate = rng.choice((rng.randrange(1 << 16), symbol.locate ^ 1 << rng.randrange(16)))
        code = bytes([rng.choice(itch50.BOOK_TYPES + b"PQHYh")])
        size = itch50.BY_CODE[code].size
        return [self._stamp(code, locate, size)] if locate not in self._tracked else [self._stamp(b"L", locate, itch50.BY_CODE[b"L"].size)]

    def _stamp(self, code, locate, size):
        """Type and locate, the rest random."""
        return (code + locate.to_bytes(2, "big") + self.rng.randbytes(size))[:size]
