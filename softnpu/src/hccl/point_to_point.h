// Sends and receives between two ranks, any number of them at once.
#pragma once

#include <vector>

#include "hccl/communicator.h"

namespace softnpu::hccl {

// One send or receive. It moves through its channel piece by piece; a send is done when all of it was received.
class Transfer {
 public:
  enum class Direction { send, receive };

  Transfer(Direction which, uint32_t other, char* buffer, uint64_t elements, HcclDataType element_type);

  void take_ticket(Communicator& comm);
  void forget_ticket() { ticket_ = Turnstile::kNoTicket; }
  // Moves what can be moved now; whether anything was.
  bool advance(Communicator& comm);
  bool done() const { return phase_ == Phase::done; }
  uint32_t peer() const { return peer_; }
  bool receives() const { return direction_ == Direction::receive; }
  const char* data() const { return data_; }
  uint64_t bytes_left() const { return left_; }

 private:
  enum class Phase { waiting_for_turn, header, data, acknowledgement, done };
  struct Header {
    uint64_t elements;
    uint64_t type;
  };

  bool advance_send(Channel& channel, uint64_t capacity);
  bool advance_receive(Communicator& comm, Channel& channel, uint64_t capacity);
  void check(const Communicator& comm, const Header& header) const;
  Turnstile& turnstile(Communicator& comm) const;

  Direction direction_;
  uint32_t peer_;
  char* data_;
  uint64_t left_;  // bytes
  Header header_;
  Phase phase_ = Phase::waiting_for_turn;
  uint32_t ticket_ = 0;
};

// Transfers that make progress together, so that none blocks another.
class Transfers : public Operation {
 public:
  using Operation::Operation;

  bool merge(Operation& other) override;

  std::vector<Transfer> items;

 protected:
  void take_tickets() override;
  void run(bool with_tickets) override;
  void for_each_part(const Visit& visit) const override {
    for (const Transfer& item : items) visit(item.data(), item.bytes_left(), item.receives());
  }
};

}  // namespace softnpu::hccl
