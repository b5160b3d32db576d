#include "hccl/collective.h"

#include <algorithm>
#include <cstring>

#include "hccl/element.h"

namespace softnpu::hccl {
namespace {

// The beginning of a slot in the first round of a collective; a length for each rank follows.
struct Announcement {
  Signature signature;
  uint64_t rounds;
};
static_assert(sizeof(Announcement) + kMaxRanks * sizeof(uint64_t) <= kSlotBytes);

std::string text(const Signature& signature) {
  std::string out = std::string(signature.name) + "(";
  if (signature.count != 0) out += "count " + std::to_string(signature.count) + ", ";
  if (signature.type != HCCL_DATA_TYPE_RESERVED) out += element_name(HcclDataType(signature.type));
  if (signature.reduction != HCCL_REDUCE_RESERVED)
    out += std::string(", ") + reduction_name(HcclReduceOp(signature.reduction));
  if (signature.root != Signature::kNoRoot) out += ", root " + std::to_string(signature.root);
  return out + ")";
}

// Rounds are counted for ever, so the counters wrap around.
bool reached(const std::atomic<uint32_t>& counter, uint32_t round) {
  return int32_t(counter.load() - round) >= 0;
}

uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// The part of a block that travels in a round, when each round takes `step` bytes.
Block piece(const Block& block, uint64_t round, uint64_t step) {
  const uint64_t begin = std::min(block.bytes, round * step);
  return {block.data + begin, std::min(step, block.bytes - begin)};
}

void copy(char* to, const char* from, uint64_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

}  // namespace

Collective::Collective(std::shared_ptr<Communicator> communicator, const char* operation_name, Pattern how,
                       Signature what)
    : Operation(std::move(communicator), operation_name), pattern_(how), signature_(what) {
  std::strncpy(signature_.name, operation_name, sizeof signature_.name - 1);
}

template <class Fill>
void Collective::publish(const Fill& fill) {
  Segment& segment = comm->segment();
  const uint32_t round = ++comm->round;
  // The slot holds what was published two rounds ago; all must have read that.
  for (uint32_t rank = 0; rank < comm->ranks(); ++rank) {
    std::atomic<uint32_t>& consumed = segment.member(rank).consumed;
    comm->wait(consumed, kBetweenProcesses, rank, name, [&] { return reached(consumed, round - 2); });
  }
  fill(segment.slot(comm->rank(), round));
  segment.self().published.store(round);
  futex_wake_all(segment.self().published, kBetweenProcesses);
}

template <class Read>
void Collective::collect(const Read& read) {
  Segment& segment = comm->segment();
  const uint32_t round = comm->round;
  for (uint32_t rank = 0; rank < comm->ranks(); ++rank) {
    std::atomic<uint32_t>& published = segment.member(rank).published;
    comm->wait(published, kBetweenProcesses, rank, name, [&] { return reached(published, round); });
    read(rank, segment.slot(rank, round));
  }
  segment.self().consumed.store(round);
  futex_wake_all(segment.self().consumed, kBetweenProcesses);
}

void Collective::run(bool with_tickets) {
  Turnstile& turnstile = comm->collectives;
  const uint32_t ticket = with_tickets ? ticket_ : Turnstile::kNoTicket;
  comm->wait(turnstile.word, kBetweenThreads, comm->rank(), name,
             [&] { return turnstile.try_enter(ticket); });
  announce();
  switch (pattern_) {
    case Pattern::barrier: break;
    case Pattern::shared: run_shared(); break;
    case Pattern::split:
    case Pattern::reduce: run_split(); break;
    case Pattern::combine: run_combine(); break;
  }
  turnstile.leave(ticket);
}

uint64_t Collective::share_bytes() const { return kSlotBytes / comm->ranks() / 64 * 64; }

uint64_t Collective::own_rounds() const {
  uint64_t longest = 0;
  for (const Block& block : send) longest = std::max(longest, block.bytes);
  for (const Block& block : receive) longest = std::max(longest, block.bytes);
  const bool divided = pattern_ == Pattern::split || pattern_ == Pattern::reduce;
  return divide_up(longest, divided ? share_bytes() : kSlotBytes);
}

void Collective::announce() {
  publish([&](char* slot) {
    const Announcement announcement{signature_, own_rounds()};
    std::memcpy(slot, &announcement, sizeof announcement);
    auto* lengths = reinterpret_cast<uint64_t*>(slot + sizeof announcement);
    for (uint32_t to = 0; to < comm->ranks(); ++to)
      lengths[to] = send.empty() ? 0 : send[send.size() == 1 ? 0 : to].bytes;
  });
  rounds_ = 0;
  collect([&](uint32_t rank, const char* slot) { compare(rank, slot, &rounds_); });
}

void Collective::compare(uint32_t rank, const char* slot, uint64_t* rounds) const {
  Announcement theirs;
  std::memcpy(&theirs, slot, sizeof theirs);
  if (!(theirs.signature == signature_))
    refuse(HCCL_E_PARA, "the ranks of communicator ", comm->name, " disagree: rank ", comm->rank(),
           " called ", text(signature_), ", rank ", rank, " called ", text(theirs.signature));
  *rounds = std::max(*rounds, theirs.rounds);
  if (pattern_ != Pattern::shared && pattern_ != Pattern::split && pattern_ != Pattern::reduce) return;
  uint64_t sent;
  std::memcpy(&sent, slot + sizeof theirs + comm->rank() * sizeof sent, sizeof sent);
  const uint64_t expected = receive.empty() ? 0 : receive[pattern_ == Pattern::reduce ? 0 : rank].bytes;
  const bool own_broadcast = pattern_ == Pattern::shared && rank == comm->rank() && signature_.root == rank;
  if (sent != expected && !own_broadcast)
    refuse(HCCL_E_PARA, name, ": rank ", rank, " sends ", sent, " bytes to rank ", comm->rank(),
           ", which expects ", expected, " bytes");
}

void Collective::run_shared() {
  for (uint64_t round = 0; round < rounds_; ++round) {
    publish([&](char* slot) {
      if (send.empty()) return;
      const Block out = piece(send[0], round, kSlotBytes);
      copy(slot, out.data, out.bytes);
    });
    collect([&](uint32_t rank, const char* slot) {
      if (receive.empty()) return;
      const Block in = piece(receive[rank], round, kSlotBytes);
      copy(in.data, slot, in.bytes);
    });
  }
}

void Collective::run_split() {
  const uint64_t share = share_bytes();
  for (uint64_t round = 0; round < rounds_; ++round) {
    publish([&](char* slot) {
      for (uint32_t to = 0; to < send.size(); ++to) {
        const Block out = piece(send[to], round, share);
        copy(slot + to * share, out.data, out.bytes);
      }
    });
    collect([&](uint32_t rank, const char* slot) {
      if (receive.empty()) return;
      const char* own_share = slot + comm->rank() * share;
      if (pattern_ == Pattern::split) {
        const Block in = piece(receive[rank], round, share);
        return copy(in.data, own_share, in.bytes);
      }
      // In the order of the ranks, so that the result does not depend on who was faster.
      const Block in = piece(receive[0], round, share);
      if (rank == 0) return copy(in.data, own_share, in.bytes);
      const HcclDataType type = HcclDataType(signature_.type);
      if (in.bytes != 0)
        reduce_into(in.data, own_share, in.bytes / element_size(type), type,
                    HcclReduceOp(signature_.reduction));
    });
  }
}

// Each rank reduces its share of the piece, then publishes it: the work is divided, and all get the same bits.
void Collective::run_combine() {
  const HcclDataType type = HcclDataType(signature_.type);
  const uint64_t size = element_size(type), ranks = comm->ranks();
  std::vector<char> total(divide_up(kSlotBytes / size, ranks) * size);
  for (uint64_t round = 0; round < rounds_; ++round) {
    const Block in = piece(send[0], round, kSlotBytes);
    const uint64_t step = divide_up(in.bytes / size, ranks) * size;
    const Block own = piece(in, comm->rank(), step);
    const uint64_t own_begin = uint64_t(own.data - in.data);
    publish([&](char* slot) { copy(slot, in.data, in.bytes); });
    collect([&](uint32_t rank, const char* slot) {
      if (rank == 0) return copy(total.data(), slot + own_begin, own.bytes);
      if (own.bytes != 0)
        reduce_into(total.data(), slot + own_begin, own.bytes / size, type,
                    HcclReduceOp(signature_.reduction));
    });
    publish([&](char* slot) { copy(slot, total.data(), own.bytes); });
    collect([&](uint32_t rank, const char* slot) {
      if (!wants_result) return;
      const Block out = piece(piece(receive[0], round, kSlotBytes), rank, step);
      copy(out.data, slot, out.bytes);
    });
  }
}

}  // namespace softnpu::hccl
