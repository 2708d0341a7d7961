/* SPDX-License-Identifier: Apache-2.0
 *
 * Tickgate: registers and event records of the card, for C11 and C++17. Written by `make emit` from `tickgate.spec`: change the tables there, not this file.
 *
 * Registers are 32-bit words at byte addresses. One that is wider has a second word, its high half, right after: read the low word first, write
 * the high word last. See docs/registers.md and docs/messages.md.
 */
#ifndef TICKGATE_H
#define TICKGATE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are little-endian, and this header reads them as they lie in memory"
#endif

/* Registers: byte address, access, width, unit; behind one that holds flags, those. */

#define TICKGATE_ID_MAGIC                             0x000u           /* ro, 32 bits, code */
#define TICKGATE_ID_VERSION                           0x004u           /* ro, 32 bits, number */
#define TICKGATE_ID_SYMBOLS                           0x008u           /* ro, 16 bits, slots */
#define TICKGATE_ID_TICK_BITS                         0x00cu           /* ro, 8 bits, log2 ticks */
#define TICKGATE_ID_INDEX_BITS                        0x010u           /* ro, 8 bits, log2 buckets */
#define TICKGATE_ID_TABLES                            0x014u           /* ro, 8 bits, number */
#define TICKGATE_ID_WAYS                              0x018u           /* ro, 8 bits, number */
#define TICKGATE_ID_REFERENCE_BITS                    0x01cu           /* ro, 8 bits, bits */
#define TICKGATE_ID_LANES                             0x020u           /* ro, 8 bits, bytes */
#define TICKGATE_ID_FILTERS                           0x024u           /* ro, 8 bits, number */
#define TICKGATE_ID_BURST_BITS                        0x028u           /* ro, 8 bits, log2 words */

#define TICKGATE_CONTROL_ENABLE                       0x040u           /* rw, 1 bits, flag */
#define TICKGATE_CONTROL_CLEAR                        0x044u           /* wo, 1 bits, flag */
#define TICKGATE_CONTROL_READY                        0x048u           /* ro, 1 bits, flag */
#define TICKGATE_CONTROL_NOW_NS                       0x04cu           /* ro, 64 bits, ns */

#define TICKGATE_SYMBOL_LOCATE                        0x080u           /* rw, 16 bits, locate */
#define TICKGATE_SYMBOL_BASE                          0x084u           /* rw, 32 bits, 1e-4 USD */
#define TICKGATE_SYMBOL_TICK                          0x088u           /* rw, 2 bits, code */
#define TICKGATE_SYMBOL_FLAGS                         0x08cu           /* rw, 2 bits, bits */
#define TICKGATE_SYMBOL_FLAGS_TRACK                   0x1u             /* track it (0: forget the locate) */
#define TICKGATE_SYMBOL_FLAGS_STALE                   0x2u             /* its book is stale from the start, as it is anyway when messages came, or a gap was declared, since the last clear */
#define TICKGATE_SYMBOL_LOAD                          0x090u           /* wo, 8 bits, slot */
#define TICKGATE_SYMBOL_STALE                         0x094u           /* ro, 64 bits, bits */

#define TICKGATE_NET_GROUP0                           0x100u           /* rw, 32 bits, IPv4 address */
#define TICKGATE_NET_PORT0                            0x104u           /* rw, 17 bits, port */
#define TICKGATE_NET_PORT0_IN_USE                     0x10000u         /* filter in use */
#define TICKGATE_NET_GROUP1                           0x108u           /* rw, 32 bits, IPv4 address */
#define TICKGATE_NET_PORT1                            0x10cu           /* rw, 17 bits, port */
#define TICKGATE_NET_PORT1_IN_USE                     0x10000u         /* filter in use */
#define TICKGATE_NET_GROUP2                           0x110u           /* rw, 32 bits, IPv4 address */
#define TICKGATE_NET_PORT2                            0x114u           /* rw, 17 bits, port */
#define TICKGATE_NET_PORT2_IN_USE                     0x10000u         /* filter in use */
#define TICKGATE_NET_GROUP3                           0x118u           /* rw, 32 bits, IPv4 address */
#define TICKGATE_NET_PORT3                            0x11cu           /* rw, 17 bits, port */
#define TICKGATE_NET_PORT3_IN_USE                     0x10000u         /* filter in use */
#define TICKGATE_NET_FRAMES                           0x120u           /* count, 48 bits, frames */
#define TICKGATE_NET_DATAGRAMS                        0x128u           /* count, 48 bits, frames */
#define TICKGATE_NET_NOT_READY                        0x130u           /* count, 48 bits, frames */
#define TICKGATE_NET_NOT_IPV4                         0x138u           /* count, 48 bits, frames */
#define TICKGATE_NET_BAD_HEADER                       0x140u           /* count, 48 bits, frames */
#define TICKGATE_NET_FRAGMENT                         0x148u           /* count, 48 bits, frames */
#define TICKGATE_NET_NOT_UDP                          0x150u           /* count, 48 bits, frames */
#define TICKGATE_NET_FILTERED                         0x158u           /* count, 48 bits, frames */
#define TICKGATE_NET_BAD_LENGTH                       0x160u           /* count, 48 bits, frames */
#define TICKGATE_NET_SHORT_FRAME                      0x168u           /* count, 48 bits, frames */
#define TICKGATE_NET_BAD_FCS                          0x170u           /* count, 48 bits, frames */
#define TICKGATE_NET_OVERFLOW                         0x178u           /* count, 48 bits, frames */

#define TICKGATE_MOLD_START                           0x200u           /* rw, 64 bits, messages */
#define TICKGATE_MOLD_RESTART                         0x208u           /* wo, 1 bits, flag */
#define TICKGATE_MOLD_EXPECTED                        0x20cu           /* ro, 64 bits, messages */
#define TICKGATE_MOLD_SESSION_LOW                     0x214u           /* ro, 64 bits, ASCII */
#define TICKGATE_MOLD_SESSION_HIGH                    0x21cu           /* ro, 16 bits, ASCII */
#define TICKGATE_MOLD_PACKETS                         0x220u           /* count, 48 bits, packets */
#define TICKGATE_MOLD_HEARTBEATS                      0x228u           /* count, 48 bits, packets */
#define TICKGATE_MOLD_ENDS                            0x230u           /* count, 48 bits, packets */
#define TICKGATE_MOLD_RUNTS                           0x238u           /* count, 48 bits, packets */
#define TICKGATE_MOLD_MESSAGES                        0x240u           /* count, 48 bits, messages */
#define TICKGATE_MOLD_DUPLICATES                      0x248u           /* count, 48 bits, messages */
#define TICKGATE_MOLD_GAPS                            0x250u           /* count, 48 bits, gaps */
#define TICKGATE_MOLD_MISSING                         0x258u           /* count, 48 bits, messages */
#define TICKGATE_MOLD_SESSIONS                        0x260u           /* count, 48 bits, sessions */
#define TICKGATE_MOLD_OVERRUNS                        0x268u           /* count, 48 bits, packets */
#define TICKGATE_MOLD_SUSPECT                         0x270u           /* count, 48 bits, packets */

#define TICKGATE_FEED_TYPE_SELECT                     0x300u           /* rw, 8 bits, ASCII */
#define TICKGATE_FEED_TYPE_COUNT                      0x304u           /* ro, 48 bits, messages */
#define TICKGATE_FEED_EMPTY                           0x30cu           /* count, 48 bits, messages */
#define TICKGATE_FEED_UNKNOWN                         0x314u           /* count, 48 bits, messages */
#define TICKGATE_FEED_SHORT                           0x31cu           /* count, 48 bits, messages */
#define TICKGATE_FEED_LONGER                          0x324u           /* count, 48 bits, messages */
#define TICKGATE_FEED_OTHER                           0x32cu           /* count, 48 bits, messages */

#define TICKGATE_BOOK_UPDATES                         0x400u           /* count, 48 bits, messages */
#define TICKGATE_BOOK_OUTSIDE                         0x408u           /* count, 48 bits, orders */
#define TICKGATE_BOOK_UNKNOWN_REFERENCE               0x410u           /* count, 48 bits, messages */
#define TICKGATE_BOOK_DUPLICATE_REFERENCE             0x418u           /* count, 48 bits, messages */
#define TICKGATE_BOOK_OVERFILL                        0x420u           /* count, 48 bits, messages */
#define TICKGATE_BOOK_TABLE_FULL                      0x428u           /* count, 48 bits, messages */
#define TICKGATE_BOOK_WIDE_REFERENCE                  0x430u           /* count, 48 bits, messages */

#define TICKGATE_RING_BASE                            0x500u           /* rw, 64 bits, bytes */
#define TICKGATE_RING_SIZE_LOG2                       0x508u           /* rw, 5 bits, log2 records */
#define TICKGATE_RING_ENABLE                          0x50cu           /* rw, 1 bits, flag */
#define TICKGATE_RING_CREDIT                          0x510u           /* rw, 32 bits, records */
#define TICKGATE_RING_WRITTEN                         0x514u           /* ro, 32 bits, records */
#define TICKGATE_RING_RECORDS                         0x518u           /* count, 48 bits, records */
#define TICKGATE_RING_DROPPED_FULL                    0x520u           /* count, 48 bits, records */
#define TICKGATE_RING_DROPPED_BUSY                    0x528u           /* count, 48 bits, records */
#define TICKGATE_RING_DROPPED_OFF                     0x530u           /* count, 48 bits, records */

#define TICKGATE_COMMAND_SLOT                         0x600u           /* rw, 8 bits, slot */
#define TICKGATE_COMMAND_SIDE                         0x604u           /* rw, 1 bits, flag */
#define TICKGATE_COMMAND_REFERENCE                    0x608u           /* rw, 64 bits, number */
#define TICKGATE_COMMAND_QTY                          0x610u           /* rw, 32 bits, shares */
#define TICKGATE_COMMAND_PRICE                        0x614u           /* rw, 32 bits, 1e-4 USD */
#define TICKGATE_COMMAND_PUSH                         0x618u           /* wo, 3 bits, code */
#define TICKGATE_COMMAND_PUSHED                       0x61cu           /* ro, 31 bits, commands */
#define TICKGATE_COMMAND_DONE                         0x620u           /* ro, 31 bits, commands */
#define TICKGATE_COMMAND_REFUSED                      0x624u           /* count, 48 bits, commands */

#define TICKGATE_DEPTH_START                          0x680u           /* wo, 8 bits, slot */
#define TICKGATE_DEPTH_BUSY                           0x684u           /* ro, 1 bits, flag */
#define TICKGATE_DEPTH_TRIES                          0x688u           /* ro, 16 bits, number */
#define TICKGATE_DEPTH_TOPS                           0x68cu           /* ro, 32 bits, records */
#define TICKGATE_DEPTH_BIDS                           0x690u           /* ro, 4 bits, levels */
#define TICKGATE_DEPTH_ASKS                           0x694u           /* ro, 4 bits, levels */
#define TICKGATE_DEPTH_SHOW                           0x698u           /* rw, 5 bits, level */
#define TICKGATE_DEPTH_PRICE                          0x69cu           /* ro, 32 bits, 1e-4 USD */
#define TICKGATE_DEPTH_QTY                            0x6a0u           /* ro, 64 bits, shares */
#define TICKGATE_DEPTH_ORDERS                         0x6a8u           /* ro, 32 bits, orders */

#define TICKGATE_PUBLISH_STALE_WHEN                   0x700u           /* rw, 2 bits, bits */
#define TICKGATE_PUBLISH_STALE_WHEN_CROSSED           0x1u             /* best bid above best ask */
#define TICKGATE_PUBLISH_STALE_WHEN_LOCKED            0x2u             /* best bid at best ask */
#define TICKGATE_PUBLISH_CROSSED                      0x704u           /* count, 48 bits, times */
#define TICKGATE_PUBLISH_LOCKED                       0x70cu           /* count, 48 bits, times */

/* What the first registers read. */
#define TICKGATE_MAGIC                                0x4b434954u
#define TICKGATE_VERSION                              1u
#define TICKGATE_LINK_DOWN                            0xffffffffu      /* the link to the card is down */

/* Tick sizes, 1e-4 USD, by the code in the symbol's tick register. */
#define TICKGATE_TICK_SIZE_0                          100u
#define TICKGATE_TICK_SIZE_1                          50u
#define TICKGATE_TICK_SIZE_2                          1u

/* Event records. */
#define TICKGATE_RECORD_SIZE                          64u              /* bytes */
#define TICKGATE_NO_SLOT                              0xffffu          /* slot of records of the whole feed */
#define TICKGATE_LAP_BIT                              0x80000000u      /* of number: 1 in the first lap through the ring, 0 in the second, ... */
#define TICKGATE_NUMBER_MASK                          0x7fffffffu      /* of number: low bits of the message's number in the feed */

#define TICKGATE_KIND_TOP_OF_BOOK                     1u
#define TICKGATE_KIND_TRADE                           2u
#define TICKGATE_KIND_GAP                             3u
#define TICKGATE_KIND_STATUS                          4u
#define TICKGATE_KIND_INTENT                          5u
#define TICKGATE_KIND_ORDER_SENT                      6u
#define TICKGATE_KIND_ORDER_REJECTED                  7u
#define TICKGATE_KIND_EXECUTION                       8u
#define TICKGATE_KIND_HEARTBEAT                       9u

#define TICKGATE_FLAG_VALID                           0x01u            /* the top of book is the exchange's: symbol not stale, neither side unknown */
#define TICKGATE_FLAG_BID                             0x02u            /* bid_px and bid_qty are there (else the side is empty or unknown) */
#define TICKGATE_FLAG_ASK                             0x04u            /* ask_px and ask_qty are there */
#define TICKGATE_FLAG_BID_UNKNOWN                     0x08u            /* an order outside the ladder could be the best bid */
#define TICKGATE_FLAG_ASK_UNKNOWN                     0x10u            /* an order outside the ladder could be the best ask */
#define TICKGATE_FLAG_STALE                           0x20u            /* the book may differ from the exchange's, until the host has re-armed the symbol */
#define TICKGATE_FLAG_CROSSED                         0x40u            /* best bid above best ask, or at it (locked: bid_px is ask_px); legal outside continuous trading */
#define TICKGATE_FLAG_SELL                            0x80u            /* side of the message's order */

#define TICKGATE_FAULT_NONE                           0u               /* nothing */
#define TICKGATE_FAULT_UNKNOWN_REFERENCE              1u               /* D E C X U of an order that the table does not hold */
#define TICKGATE_FAULT_DUPLICATE_REFERENCE            2u               /* A F U with the reference of a live order: not added */
#define TICKGATE_FAULT_OVERFILL                       3u               /* E C X of more shares than the order has: the order goes */
#define TICKGATE_FAULT_TABLE_FULL                     4u               /* A F U found no room in the order table: not added */
#define TICKGATE_FAULT_WIDE_REFERENCE                 5u               /* reference has bits set above those that the order table keeps: not looked up */
#define TICKGATE_FAULT_CROSSED                        6u               /* best bid above best ask in continuous trading, where the register publish.stale_when asks for it */
#define TICKGATE_FAULT_LOCKED                         7u               /* best bid at best ask in continuous trading, where the register publish.stale_when asks for it */

#define TICKGATE_GAP_MISSING                          'G'              /* messages first ... first + count - 1 never came */
#define TICKGATE_GAP_SESSION                          'S'              /* a new session began; messages first ... first + count - 1 of it never came */
#define TICKGATE_GAP_FRAME                            'F'              /* a frame of the feed had a bad FCS or ended early; first is the next number expected */
#define TICKGATE_GAP_LENGTH                           'L'              /* a message block did not fit its datagram: the rest was dropped; first is the next number expected */
#define TICKGATE_GAP_MESSAGE                          'M'              /* a book message shorter than its type: first is its number */

#define TICKGATE_COMMAND_KIND_ADD                     1u               /* an order rests, as by A */
#define TICKGATE_COMMAND_KIND_TAKE                    2u               /* shares leave an order, as by X */
#define TICKGATE_COMMAND_KIND_DELETE                  3u               /* an order goes, as by D */
#define TICKGATE_COMMAND_KIND_HOLD                    4u               /* the symbol is stale; what went wrong with it before is forgotten */
#define TICKGATE_COMMAND_KIND_BASE                    5u               /* new base (`price`) and tick (`qty`, code) of an empty ladder */
#define TICKGATE_COMMAND_KIND_ARM                     6u               /* the symbol is stale no more, unless something went wrong since it was held */
#define TICKGATE_COMMAND_SOURCE                       7u               /* source of their records */

#define TICKGATE_STATE_TRADING_MASK                   0x07u            /* of state */
#define TICKGATE_STATE_TRADING_UNKNOWN                0x00u
#define TICKGATE_STATE_TRADING_T                      0x01u
#define TICKGATE_STATE_TRADING_Q                      0x02u
#define TICKGATE_STATE_TRADING_H                      0x03u
#define TICKGATE_STATE_TRADING_P                      0x04u
#define TICKGATE_STATE_TRADING_OPERATIONAL_HALT       0x05u
#define TICKGATE_STATE_REG_SHO_MASK                   0x18u            /* of state */
#define TICKGATE_STATE_REG_SHO_0                      0x00u
#define TICKGATE_STATE_REG_SHO_1                      0x08u
#define TICKGATE_STATE_REG_SHO_2                      0x10u
#define TICKGATE_STATE_PHASE_MASK                     0xe0u            /* of state */
#define TICKGATE_STATE_PHASE_NONE                     0x00u
#define TICKGATE_STATE_PHASE_O                        0x20u
#define TICKGATE_STATE_PHASE_S                        0x40u
#define TICKGATE_STATE_PHASE_Q                        0x60u
#define TICKGATE_STATE_PHASE_M                        0x80u
#define TICKGATE_STATE_PHASE_E                        0xa0u
#define TICKGATE_STATE_PHASE_C                        0xc0u

/* One event record: a cache line. */
typedef struct {
    uint8_t kind;                    /* code; what the record is */
    uint8_t flags;                   /* bits */
    uint16_t slot;                   /* slot; symbol slot; 0xFFFF: the whole feed */
    uint8_t source;                  /* number; which net filter took the datagram; 7: no datagram, a command of the host */
    uint8_t message;                 /* ASCII; type of the ITCH message; 0 in gap records that no message caused */
    uint8_t state;                   /* bits; trading state 2:0, Reg SHO 4:3, market phase 7:5 */
    uint8_t detail;                  /* code; top_of_book: fault; trade: printable (P: Y) or cross type; gap: reason; status: the code byte of the message */
    uint64_t sequence;               /* records; counts every record since reset, dropped ones too */
    uint64_t t_wire_ns;              /* ns; card time of the word with the last byte that decides what the message does */
    uint64_t t_out_ns;               /* ns; card time at which the record went to the ring */
    union {
        struct { /* The book of a symbol after a book message. */
            uint32_t bid_px;         /* 1e-4 USD */
            uint32_t bid_qty;        /* shares; 0xFFFFFFFF: that many or more */
            uint32_t ask_px;         /* 1e-4 USD */
            uint32_t ask_qty;        /* shares; 0xFFFFFFFF: that many or more */
            uint32_t order_px;       /* 1e-4 USD; price of the message's order; E C X D: 0 when it rests outside the ladder or is not live */
            uint32_t order_qty;      /* shares; shares added, taken or (D) left in the order; 0 for an unknown D */
        } top_of_book;
        struct { /* P, C (at its own price) and Q. */
            uint64_t qty;            /* shares */
            uint32_t px;             /* 1e-4 USD */
            uint8_t reserved[12];
        } trade;
        struct { /* Messages may have been lost: every symbol is stale from here on. */
            uint64_t first;          /* messages */
            uint64_t count;          /* messages */
            uint8_t reserved[8];
        } gap;
        struct { /* Trading state, Reg SHO, operational halt, system event, circuit breaker. */
            uint8_t reserved[24];
        } status;
    } body;
    uint32_t digest;                 /* CRC-32; running hash of the symbol's published book; 0 for the whole feed */
    uint32_t number;                 /* messages; bits 30:0 the low bits of the message's number in the feed; bit 31 the lap bit */
} tickgate_record;

static_assert(sizeof(tickgate_record) == TICKGATE_RECORD_SIZE, "size of a record");
static_assert(offsetof(tickgate_record, kind) == 0, "offset of kind");
static_assert(offsetof(tickgate_record, flags) == 1, "offset of flags");
static_assert(offsetof(tickgate_record, slot) == 2, "offset of slot");
static_assert(offsetof(tickgate_record, source) == 4, "offset of source");
static_assert(offsetof(tickgate_record, message) == 5, "offset of message");
static_assert(offsetof(tickgate_record, state) == 6, "offset of state");
static_assert(offsetof(tickgate_record, detail) == 7, "offset of detail");
static_assert(offsetof(tickgate_record, sequence) == 8, "offset of sequence");
static_assert(offsetof(tickgate_record, t_wire_ns) == 16, "offset of t_wire_ns");
static_assert(offsetof(tickgate_record, t_out_ns) == 24, "offset of t_out_ns");
static_assert(offsetof(tickgate_record, body) == 32, "offset of body");
static_assert(offsetof(tickgate_record, digest) == 56, "offset of digest");
static_assert(offsetof(tickgate_record, number) == 60, "offset of number");
static_assert(offsetof(tickgate_record, body.top_of_book.bid_px) == 32, "offset of body.top_of_book.bid_px");
static_assert(offsetof(tickgate_record, body.top_of_book.bid_qty) == 36, "offset of body.top_of_book.bid_qty");
static_assert(offsetof(tickgate_record, body.top_of_book.ask_px) == 40, "offset of body.top_of_book.ask_px");
static_assert(offsetof(tickgate_record, body.top_of_book.ask_qty) == 44, "offset of body.top_of_book.ask_qty");
static_assert(offsetof(tickgate_record, body.top_of_book.order_px) == 48, "offset of body.top_of_book.order_px");
static_assert(offsetof(tickgate_record, body.top_of_book.order_qty) == 52, "offset of body.top_of_book.order_qty");
static_assert(offsetof(tickgate_record, body.trade.qty) == 32, "offset of body.trade.qty");
static_assert(offsetof(tickgate_record, body.trade.px) == 40, "offset of body.trade.px");
static_assert(offsetof(tickgate_record, body.trade.reserved) == 44, "offset of body.trade.reserved");
static_assert(offsetof(tickgate_record, body.gap.first) == 32, "offset of body.gap.first");
static_assert(offsetof(tickgate_record, body.gap.count) == 40, "offset of body.gap.count");
static_assert(offsetof(tickgate_record, body.gap.reserved) == 48, "offset of body.gap.reserved");
static_assert(offsetof(tickgate_record, body.status.reserved) == 32, "offset of body.status.reserved");

#endif
