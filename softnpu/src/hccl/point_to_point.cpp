#include "hccl/point_to_point.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "hccl/element.h"

namespace softnpu::hccl {
namespace {

constexpr int64_t kPoll = 10'000'000;  // ns between looks at whether the peers are alive
constexpr int64_t kSpin = 3'000;       // ns

// Copies to and from a ring, around its end.
void write_ring(Channel& channel, uint64_t capacity, uint64_t position, const void* from, uint64_t bytes) {
  const uint64_t begin = position % capacity, first = std::min(bytes, capacity - begin);
  std::memcpy(channel.bytes + begin, from, first);
  std::memcpy(channel.bytes, static_cast<const char*>(from) + first, bytes - first);
}

void read_ring(const Channel& channel, uint64_t capacity, uint64_t position, void* to, uint64_t bytes) {
  const uint64_t begin = position % capacity, first = std::min(bytes, capacity - begin);
  std::memcpy(to, channel.bytes + begin, first);
  std::memcpy(static_cast<char*>(to) + first, channel.bytes, bytes - first);
}

void ring(Member& member) {
  member.doorbell.fetch_add(1);
  futex_wake_all(member.doorbell, kBetweenProcesses);
}

}  // namespace

Transfer::Transfer(Direction which, uint32_t other, char* buffer, uint64_t elements,
                   HcclDataType element_type)
    : direction_(which),
      peer_(other),
      data_(buffer),
      left_(elements * element_size(element_type)),
      header_{elements, uint64_t(element_type)} {}

Turnstile& Transfer::turnstile(Communicator& comm) const {
  return direction_ == Direction::send ? comm.sends[peer_] : comm.receives[peer_];
}

void Transfer::take_ticket(Communicator& comm) { ticket_ = turnstile(comm).take_ticket(); }

bool Transfer::advance(Communicator& comm) {
  if (phase_ == Phase::done) return false;
  if (phase_ == Phase::waiting_for_turn) {
    if (!turnstile(comm).try_enter(ticket_)) return false;
    phase_ = Phase::header;
  }
  Segment& segment = comm.segment();
  const bool sends = direction_ == Direction::send;
  Channel& channel = sends ? segment.channel(comm.rank(), peer_) : segment.channel(peer_, comm.rank());
  const bool moved = sends ? advance_send(channel, segment.channel_bytes())
                           : advance_receive(comm, channel, segment.channel_bytes());
  if (moved) ring(segment.member(peer_));
  if (done()) {
    turnstile(comm).leave(ticket_);
    ring(segment.self());  // another stream of this rank may wait for its turn
  }
  return moved;
}

bool Transfer::advance_send(Channel& channel, uint64_t capacity) {
  bool moved = false;
  uint64_t written = channel.written.load(), room = capacity - (written - channel.read.load());
  if (phase_ == Phase::header && room >= sizeof header_) {
    write_ring(channel, capacity, written, &header_, sizeof header_);
    written += sizeof header_, room -= sizeof header_;
    phase_ = Phase::data;
    moved = true;
  }
  if (phase_ == Phase::data) {
    const uint64_t bytes = std::min(left_, room);
    if (bytes != 0) {
      write_ring(channel, capacity, written, data_, bytes);
      data_ += bytes, left_ -= bytes, written += bytes;
      moved = true;
    }
    if (left_ == 0) phase_ = Phase::acknowledgement;
  }
  channel.written.store(written);
  if (phase_ == Phase::acknowledgement && channel.read.load() == written) {
    phase_ = Phase::done;
    moved = true;
  }
  return moved;
}

bool Transfer::advance_receive(Communicator& comm, Channel& channel, uint64_t capacity) {
  bool moved = false;
  uint64_t read = channel.read.load(), available = channel.written.load() - read;
  if (phase_ == Phase::header && available >= sizeof header_) {
    Header header;
    read_ring(channel, capacity, read, &header, sizeof header);
    check(comm, header);
    read += sizeof header, available -= sizeof header;
    phase_ = Phase::data;
    moved = true;
  }
  if (phase_ == Phase::data) {
    const uint64_t bytes = std::min(left_, available);
    if (bytes != 0) {
      read_ring(channel, capacity, read, data_, bytes);
      data_ += bytes, left_ -= bytes, read += bytes;
      moved = true;
    }
    if (left_ == 0) phase_ = Phase::done;
  }
  channel.read.store(read);
  return moved;
}

void Transfer::check(const Communicator& comm, const Header& header) const {
  if (header.elements == header_.elements && header.type == header_.type) return;
  refuse(HCCL_E_PARA, "rank ", peer_, " sends ", header.elements, " elements of ",
         element_name(HcclDataType(header.type)), " to rank ", comm.rank(), ", which wants to receive ",
         header_.elements, " of ", element_name(HcclDataType(header_.type)));
}

void Transfers::take_tickets() {
  for (Transfer& item : items) item.take_ticket(*comm);
}

bool Transfers::merge(Operation& other) {
  auto* more = dynamic_cast<Transfers*>(&other);
  if (more == nullptr) return false;
  items.insert(items.end(), std::make_move_iterator(more->items.begin()),
               std::make_move_iterator(more->items.end()));
  return true;
}

void Transfers::run(bool with_tickets) {
  std::atomic<uint32_t>& doorbell = comm->segment().self().doorbell;
  std::vector<Transfer> moving = items;
  if (!with_tickets) {
    for (Transfer& item : moving) item.forget_ticket();
  }
  int64_t last_move = now_ns();
  for (;;) {
    const uint32_t seen = doorbell.load();
    bool moved = false, all_done = true;
    for (Transfer& item : moving) {
      moved = item.advance(*comm) || moved;
      all_done = all_done && item.done();
    }
    if (all_done) return;
    if (moved) {
      last_move = now_ns();
      continue;
    }
    if (spin_until([&] { return doorbell.load() != seen; }, kSpin)) continue;
    futex_wait(doorbell, seen, kPoll, kBetweenProcesses);
    if (doorbell.load() != seen) continue;
    for (const Transfer& item : moving)
      if (!item.done()) comm->check_health(item.peer(), name, last_move);
  }
}

}  // namespace softnpu::hccl
