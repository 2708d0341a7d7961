"""Commands of the host and messages of the feed never meet, whatever the line's pace."""
from amaranth import Mux, Signal

from tickgate.spec import commands
from tickgate_hdl.book.commands import Commands
from tickgate_hdl.feed.events import key
from tickgate_sim.formal import proof

COMMANDS = "tickgate_hdl.book.commands"
SPACING = 5            # cycles from a message's last needed byte to the next one's first key
KEYS_AFTER = 1         # cycles after a frame's last word in which it may still tell keys and updates
CONTEXTS_AFTER = 7     # and contexts or gaps
FIRST_CONTEXT = 17     # cycles from a frame's first word to the first of those
MOST = 31


@proof("a command's key, update and context are never in the cycle of the feed's, and 5 cycles or more from the messages before and behind it",
       engine="pdr", within=40, quick=True, mutants=[
    (COMMANDS, "LATEST = 9 ", "LATEST = 14 "),
    (COMMANDS, "SETTLED = 8 ", "SETTLED = 5 "),
    (COMMANDS, "~mine & ~lasts.any()", "~mine"),
    (COMMANDS, "(~under_way | firsts", "(1 | firsts"),
])
def apart(b):
    """The feed: frames of any length and pace, at any distance, each with messages in any cycle in which the headers before them allow it; commands of any
    kind waiting in any cycle."""
    part = b.part(Commands(key_layout=key(slot_bits=1, index_bits=2, reference_bits=4, tables=1), index_bits=2, reference_bits=4, tables=1))

    def since(event, name):
        """Cycles since the last ``event``, MOST when that is longer ago or never was; 0 in its own cycle."""
        before, now = Signal(range(MOST + 1), init=MOST, name=f"{name}_before"), Signal(range(MOST + 1), name=f"{name}_now")
        b.m.d.comb += now.eq(Mux(event, 0, Mux(before == MOST, MOST, before + 1)))
        b.m.d.sync += before.eq(now)
        return now

    under_way = Signal()
    b.m.d.sync += under_way.eq((under_way | part.first) & ~part.last)
    b.assume(~part.first | ~under_way)
    b.assume(~part.last | under_way | part.first)
    first, last = since(part.first, "first"), since(part.last, "last")
    first_of_last = Signal(range(MOST + 1), init=MOST)    # cycles since the first word of the frame that ended last
    b.m.d.sync += first_of_last.eq(Mux(part.last, Mux(first == MOST, MOST, first + 1), Mux(first_of_last == MOST, MOST, first_of_last + 1)))
    inside = under_way | part.last

    def may(after, earliest):
        """Whether a frame may tell something now: this one, or in so many cycles after its last word the one before."""
        return inside & (first >= earliest) | (last <= after) & (Mux(part.last, first, first_of_last) >= earliest)

    b.assume(~(part.feed_keys.valid | part.feed_updates.valid) | may(KEYS_AFTER, Commands.FIRST_KEY))
    b.assume(~part.feed_contexts.valid | may(CONTEXTS_AFTER, FIRST_CONTEXT))
    b.assume(part.feed_contexts.p.source != commands.HOST)

    told = Signal()                                       # a command's update or, when it has none, its status
    b.m.d.comb += told.eq(part.contexts.valid & (part.contexts.p.source == commands.HOST))
    key_told = part.keys.valid & ~part.feed_keys.valid
    feed = part.feed_keys.valid | part.feed_updates.valid
    feed_before, told_before = since(feed, "feed"), since(told, "told")
    b.prove("one context at a time", ~(told & part.feed_contexts.valid))
    b.prove("no message within 5 cycles before a command's key, nor from there to its update", ~(key_told | told) | (feed_before >= SPACING))
    b.prove("no message within 5 cycles behind a command's update", ~feed | (told_before >= SPACING))
    b.prove("the fields of a message's update stay for 5 cycles", (feed_before > SPACING) | (part.updates.p.as_value() == part.feed_updates.p.as_value()))
    b.cover("a command's update", told & part.updates.valid)
    b.cover("a status while a frame is under way", told & ~part.updates.valid & under_way)
