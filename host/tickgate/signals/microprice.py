"""Stoikov's microprice: the mid, corrected by how imbalance and spread have moved it before.

Source: S. Stoikov, "The micro-price: a high frequency estimator of future prices", SSRN 2970694 (2017), section 3; Quantitative Finance 18 (2018).
"""
import numpy as np

from .mid import mid


class Microprice:
    """The estimate for one symbol: ``observe`` best quotes in their order, ``fit``, then ``adjust`` or ``price`` others.

    The state of a book is x = (imbalance, spread): qb / (qb + qa) in ``buckets`` equal parts, and the spread in units of ``tick`` (1e-4 USD), rounded up, 1 to
    ``spreads``; wider ones have no state. Each row is one step of a Markov chain; from the observed steps and their mirror images (bid and ask changed) come

        Q(x, y)  probability that the next step goes to y and the mid stays
        T(x, y)  probability that it goes to y and the mid moves
        r(x)     expected move of the mid at the next step
        G1 = (1 - Q)^-1 r            expected first move of the mid
        B  = (1 - Q)^-1 T            state after it
        G* = G1 + B G1 + B^2 G1 + …  expected sum of all moves

    and the microprice is mid + G*(x). Thanks to the mirror images the sum converges, and G*(mirror of x) = -G*(x).
    """

    def __init__(self, buckets=10, spreads=4, tick=100):
        if buckets < 1 or spreads < 1 or tick < 1:
            raise ValueError(f"buckets, spreads and tick must be at least 1, not {buckets}, {spreads} and {tick}")
        self.buckets, self.spreads, self.tick = buckets, spreads, tick
        states = buckets * spreads
        self.stays, self.moves = np.zeros((states, states)), np.zeros((states, states))    # steps observed
        self.moved = np.zeros(states)                                                      # sum of the mid's moves, 1e-4 USD
        self.last = None
        self.adjustment = np.full(states, np.nan)
        imbalance, spread = np.divmod(np.arange(states), spreads)
        self.mirror = (buckets - 1 - imbalance) * spreads + spread

    def states(self, bid_px, bid_qty, ask_px, ask_qty):
        """The state of each row, -1: none (a side is empty, the book is locked or crossed, the spread too wide)."""
        bid_px, bid_qty, ask_px, ask_qty = (np.asarray(x, np.int64) for x in (bid_px, bid_qty, ask_px, ask_qty))
        there = (bid_qty > 0) & (ask_qty > 0) & (bid_px < ask_px)
        spread = -((bid_px - ask_px) // self.tick)
        there &= spread <= self.spreads
        total = np.where(there, bid_qty + ask_qty, 1)
        imbalance = np.minimum(bid_qty * self.buckets // total, self.buckets - 1)
        return np.where(there, imbalance * self.spreads + spread - 1, -1)

    def observe(self, bid_px, bid_qty, ask_px, ask_qty):
        """Count the steps between rows that follow one another, also from the rows of the call before."""
        state, middle = self.states(bid_px, bid_qty, ask_px, ask_qty), mid(bid_px, bid_qty, ask_px, ask_qty)
        if not len(state):
            return
        if self.last is not None:
            state, middle = np.append(self.last[0], state), np.append(self.last[1], middle)
        self.last = state[-1], middle[-1]
        here, there, move = state[:-1], state[1:], np.diff(middle)
        seen = (here >= 0) & (there >= 0)
        here, there, move = here[seen], there[seen], move[seen]
        for x, y, step in ((here, there, move), (self.mirror[here], self.mirror[there], -move)):
            stay = step == 0
            np.add.at(self.stays, (x[stay], y[stay]), 1)
            np.add.at(self.moves, (x[~stay], y[~stay]), 1)
            np.add.at(self.moved, x, step)

    def interrupt(self):
        """What is observed next does not follow what was."""
        self.last = None

    def fit(self):
        """Estimate ``adjustment``: G* of each state in 1e-4 USD, NaN for those never seen or from which the mid was never seen to move. Returns self."""
        stays, moves = self.stays, self.moves
        leads = moves.sum(axis=1) > 0                     # states from which the mid moves, sooner or later
        while True:
            more = leads | (stays[:, leads].sum(axis=1) > 0)
            if (more == leads).all():
                break
            leads = more
        self.adjustment = np.full(len(leads), np.nan)
        if not leads.any():
            return self
        count = stays[np.ix_(leads, leads)].sum(axis=1) + moves[leads].sum(axis=1)
        stays, moves = stays[np.ix_(leads, leads)], moves[np.ix_(leads, leads)]
        leave = np.eye(len(count)) - stays / count[:, None]
        first = np.linalg.solve(leave, self.moved[leads] / count)
        after = np.linalg.solve(leave, moves / count[:, None])
        # The sum is the solution of (1 - B) G = G1 that is odd under the mirror; the others differ from it by a constant.
        some = np.linalg.lstsq(np.eye(len(count)) - after, first, rcond=None)[0]
        whole = np.zeros(len(leads))
        whole[leads] = some
        self.adjustment[leads] = ((whole - whole[self.mirror]) / 2)[leads]
        return self

    def adjust(self, bid_px, bid_qty, ask_px, ask_qty):
        """G* of each row, in 1e-4 USD; NaN where there is none."""
        state = self.states(bid_px, bid_qty, ask_px, ask_qty)
        return np.where(state >= 0, self.adjustment[np.maximum(state, 0)], np.nan)

    def price(self, bid_px, bid_qty, ask_px, ask_qty):
        """The microprice of each row, in 1e-4 USD; NaN where there is none."""
        return mid(bid_px, bid_qty, ask_px, ask_qty) + self.adjust(bid_px, bid_qty, ask_px, ask_qty)
