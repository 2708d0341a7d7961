// The virtual card: clocks the verilated core, is the wire in front of it and the host's memory behind it. Used through ctypes.
//
// Time: cycle c counts from the end of reset and is the time NS_NUMERATOR * c / NS_DENOMINATOR ns. Cycles in which nothing can happen may be
// skipped (see `send`): then c jumps and the time with it.
//
// core.h is written with the core's Verilog: names of its ports, bit offsets in the packed ones, constants of tickgate.spec.
#include "Vcore.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_fst_c.h"
#endif
#include "core.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

namespace {

constexpr int64_t gap_bytes = 8 + 4 + 12;          // between the bytes of two frames on the wire: preamble and SFD, FCS, inter-frame gap
constexpr int64_t patience = 1000;                 // cycles that a register access may take
constexpr int64_t quiet = 64 + BACKLOG;            // cycles without any activity after which the core has nothing left to do
static_assert(WRITES_ADDRESS % 32 == 0 && WRITES_DATA % 32 == 0 && RX_DATA == 0 && LANES <= 8, "ports that this file does not know how to drive");

enum { OK, TIMEOUT, REFUSED };                     // what a register access comes to

struct Buffer {
  uint64_t address, size;
  uint8_t *memory;
};

struct Random {                                    // xorshift64*
  uint64_t state;
  explicit Random(uint64_t seed) : state(seed * 0x9E3779B97F4A7C15ull | 1) {}
  uint32_t next() {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return uint32_t(state * 0x2545F4914F6CDD1Dull >> 32);
  }
};

struct Card {
  VerilatedContext context;
  std::unique_ptr<Vcore> core;
#if VM_TRACE
  std::unique_ptr<VerilatedFstC> trace;
  int64_t traced = 0;                              // cycles in the trace before the last reset
#endif
  std::vector<Buffer> buffers;
  Random random{1};
  uint32_t stall = 0;                              // of 65536: how often the host memory is not ready
  int64_t cycle = 0, evaluated = 0, active = 0;    // the next cycle; cycles simulated; the last cycle with any activity
  int64_t writes = 0, stray = 0;                   // host writes taken; those of them that hit no buffer
  uint64_t stray_address = 0;                      // of the first of those
  std::deque<std::pair<uint32_t, uint32_t>> posted;   // register writes (address, value) that go while frames do; the first is under way when `posting`
  bool posting = false;
  int64_t gap = 0, deficit = 0;                    // word slots still to keep free; bytes that gaps were too short so far (0 to 3)

  void host_write() {
    const auto &beat = core->writes__payload;
    uint64_t address;
    std::memcpy(&address, &beat[WRITES_ADDRESS / 32], sizeof address);
    writes++;
    for (auto &b : buffers)
      if (address >= b.address && address - b.address <= b.size - LINE && address % LINE == 0) {
        std::memcpy(b.memory + (address - b.address), &beat[WRITES_DATA / 32], LINE);
        return;
      }
    if (!stray++) stray_address = address;
  }

  // One cycle with the inputs as they are. `outputs` looks at the settled outputs before the edge.
  template <class Outputs> void step(Outputs outputs) {
    if (!posted.empty()) post();
    core->time_ns = uint64_t(cycle) * NS_NUMERATOR / NS_DENOMINATOR;
    core->writes__ready = !stall || (random.next() & 0xFFFF) >= stall;
    core->clk = 0;
    core->eval();
    dump(0);
    if (core->writes__valid) {
      active = cycle;
      if (core->writes__ready) host_write();
    }
    outputs();
    bool address_taken = core->csr__awready, data_taken = core->csr__wready, answered = core->csr__bvalid;
    core->clk = 1;
    core->eval();
    dump(1);
    cycle++;
    evaluated++;
    if (posting) {
      if (address_taken) core->csr__awvalid = 0;
      if (data_taken) core->csr__wvalid = 0;
      if (answered) posted.pop_front(), posting = false, core->csr__bready = 0;
    }
  }

  // The posted write that is first goes on.
  void post() {
    active = cycle;
    if (posting) return;
    offer_write(posted.front().first, posted.front().second);
    posting = true;
  }

  void offer_write(uint32_t address, uint32_t value) {
    core->csr__awaddr = address;
    core->csr__wdata = value;
    core->csr__wstrb = 0xF;
    core->csr__awvalid = core->csr__wvalid = core->csr__bready = 1;
  }

  // Any other access comes after them, as on PCIe.
  bool drained() {
    for (int64_t n = 0, most = patience * int64_t(posted.size()); n < most && !posted.empty(); n++) idle_step();
    return posted.empty();
  }

  void step() {
    step([] {});
  }

  void dump([[maybe_unused]] int half) {
#if VM_TRACE
    if (trace) trace->dump(uint64_t(2 * (traced + cycle) + half) * 500 * NS_NUMERATOR / NS_DENOMINATOR);   // ps
#endif
  }

  bool word_slot() const { return cycle % GEARBOX_PERIOD != GEARBOX_PERIOD - 1; }

  // One cycle without a word; its slot, if it is one, counts for the gap.
  template <class Outputs> void idle_step(Outputs outputs) {
    if (word_slot()) {
      if (gap) gap--;
      else deficit = 0;                            // a longer gap pays back more than a deficit can be
    }
    step(outputs);
  }
  void idle_step() {
    idle_step([] {});
  }

  void offer_word(const uint8_t *bytes, int64_t count, bool first, bool last, bool error) {
    while (!word_slot()) step();
    unsigned __int128 word = 0;
    std::memcpy(&word, bytes, count);
    for (auto [value, place] : {std::pair{int64_t(first), RX_FIRST}, {int64_t(last), RX_LAST}, {count, RX_COUNT}, {int64_t(error), RX_ERROR}})
      word |= (unsigned __int128)(value) << place;
    std::memcpy(&core->rx__payload, &word, sizeof core->rx__payload);
    core->rx__valid = 1;
    active = cycle;
    step();
    core->rx__valid = 0;
  }

  int64_t frame(const uint8_t *bytes, int64_t length, bool bad) {
    while (!word_slot()) step();
    int64_t start = cycle;
    for (int64_t at = 0; at < length; at += LANES)
      offer_word(bytes + at, std::min(LANES, length - at), at == 0, at + LANES >= length, bad && at + LANES >= length);
    // Frames begin at word borders. As a MAC with deficit idle count does, round down while what is missing so far stays below a word.
    int64_t rest = length % LANES, words = gap_bytes / LANES;
    if (deficit + rest < LANES) {
      deficit += rest;
      gap = words - (rest != 0);
    } else {
      deficit -= LANES - rest;
      gap = words;
    }
    return start;
  }

  void idle_until(int64_t earliest) {
    while (gap || cycle < earliest)
      if (!gap && cycle - active > quiet) cycle = earliest;
      else idle_step();
  }

  int write(uint32_t address, uint32_t value) {
    if (!drained()) return TIMEOUT;
    offer_write(address, value);
    bool done = false;
    uint32_t response = 0;
    for (int64_t n = 0; n < patience && !done; n++) {
      bool address_taken = false, data_taken = false;
      active = cycle;
      idle_step([&] {
        address_taken = core->csr__awvalid && core->csr__awready;
        data_taken = core->csr__wvalid && core->csr__wready;
        if ((done = core->csr__bvalid)) response = core->csr__bresp;
      });
      if (address_taken) core->csr__awvalid = 0;
      if (data_taken) core->csr__wvalid = 0;
    }
    core->csr__awvalid = core->csr__wvalid = core->csr__bready = 0;
    return !done ? TIMEOUT : response ? REFUSED : OK;
  }

  int read(uint32_t address, uint32_t *value) {
    if (!drained()) return TIMEOUT;
    core->csr__araddr = address;
    core->csr__arvalid = core->csr__rready = 1;
    bool done = false;
    uint32_t response = 0;
    for (int64_t n = 0; n < patience && !done; n++) {
      bool taken = false;
      active = cycle;
      idle_step([&] {
        taken = core->csr__arvalid && core->csr__arready;
        if ((done = core->csr__rvalid)) *value = core->csr__rdata, response = core->csr__rresp;
      });
      if (taken) core->csr__arvalid = 0;
    }
    core->csr__arvalid = core->csr__rready = 0;
    return !done ? TIMEOUT : response ? REFUSED : OK;
  }

  void reset() {
    posted.clear();
    posting = false;
    core->rst = 1;
    core->rx__valid = core->csr__awvalid = core->csr__wvalid = core->csr__bready = core->csr__arvalid = core->csr__rready = 0;
    step(), step();
    core->rst = 0;
#if VM_TRACE
    traced += cycle;
#endif
    cycle = evaluated = active = writes = stray = gap = deficit = 0;
  }
};

}  // namespace

// `waves`: path of an FST to write, or null. Registers without a reset value start as random bits made from `seed`.
API Card *card_new(uint32_t seed, [[maybe_unused]] const char *waves) {
  auto *card = new Card;
  card->context.randReset(2);
  card->context.randSeed(int(seed % 0x7FFFFFFFu) + 1);
  card->context.traceEverOn(waves != nullptr);
  card->core = std::make_unique<Vcore>(&card->context, "");
#if VM_TRACE
  if (waves) {
    card->trace = std::make_unique<VerilatedFstC>();
    card->core->trace(card->trace.get(), 99);
    card->trace->set_time_unit("1ps");
    card->trace->set_time_resolution("1ps");
    card->trace->open(waves);
  }
#endif
  return card;
}

API void card_free(Card *card) {
#if VM_TRACE
  if (card->trace) card->trace->close();
#endif
  card->core->final();
  delete card;
}

API void card_reset(Card *card) { card->reset(); }
API int card_write32(Card *card, uint32_t address, uint32_t value) { return card->write(address, value); }
API void card_post32(Card *card, uint32_t address, uint32_t value) { card->posted.emplace_back(address, value); }
API int card_read32(Card *card, uint32_t address, uint32_t *value) { return card->read(address, value); }

API void card_map(Card *card, uint64_t address, uint64_t size, uint8_t *memory) { card->buffers.push_back({address, size, memory}); }

API void card_stall(Card *card, uint32_t of_65536, uint64_t seed) {
  card->stall = of_65536;
  card->random = Random(seed);
}

// Sends frames until all are sent, `max_writes` host writes have happened, or one has hit no buffer. Frame k goes not before cycle earliest[k]; idle time
// is skipped once the core is quiet. Fills start[k] with the cycle of its first word; returns how many frames were sent.
API int64_t card_send(Card *card, const uint8_t *data, const int64_t *offset, const int64_t *length, const uint8_t *bad, const int64_t *earliest,
                      int64_t count, int64_t max_writes, int64_t *start) {
  int64_t before = card->writes, stray = card->stray, k = 0;
  for (; k < count && card->writes - before < max_writes && card->stray == stray; k++) {
    card->idle_until(earliest[k]);
    start[k] = card->frame(data + offset[k], length[k], bad[k]);
  }
  return k;
}

API void card_idle(Card *card, int64_t cycles) {
  while (cycles-- > 0) card->idle_step();
}

API int64_t card_cycle(Card *card) { return card->cycle; }
API int64_t card_evaluated(Card *card) { return card->evaluated; }
API int64_t card_writes(Card *card) { return card->writes; }
API int64_t card_stray(Card *card, uint64_t *address) { return *address = card->stray_address, card->stray; }
