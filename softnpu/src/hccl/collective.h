// Collectives: every rank publishes a piece of its data in its slot of the shared memory, then reads what it needs
// from the slots of the others; as many rounds as the data needs.
#pragma once

#include <optional>
#include <vector>

#include "hccl/communicator.h"

namespace softnpu::hccl {

// What must be the same on all ranks.
struct Signature {
  uint64_t count = 0;  // elements; 0 where ranks may differ
  uint32_t type = HCCL_DATA_TYPE_RESERVED;
  uint32_t reduction = HCCL_REDUCE_RESERVED;
  uint32_t root = kNoRoot;
  char name[32] = {};

  static constexpr uint32_t kNoRoot = ~0u;
  bool operator==(const Signature&) const = default;
};

// A part of a buffer of this rank (an address of the host, where the bytes are).
struct Block {
  char* data = nullptr;
  uint64_t bytes = 0;
};

class Collective : public Operation {
 public:
  enum class Pattern {
    barrier,  // no data
    shared,   // what a rank sends goes to all: send[0], receive[from]
    split,    // what a rank sends is different for each: send[to], receive[from]
    reduce,   // the same as split, but what comes in is reduced into receive[0]
    combine,  // everybody's send[0] is reduced, the result goes to receive[0] of all (or of the root)
  };

  Collective(std::shared_ptr<Communicator> communicator, const char* operation_name, Pattern how,
             Signature what);

  std::vector<Block> send, receive;
  // Whether this rank wants the result of `combine`.
  bool wants_result = true;

 protected:
  void take_tickets() override { ticket_ = comm->collectives.take_ticket(); }
  void run(bool with_tickets) override;
  void for_each_part(const Visit& visit) const override {
    for (const Block& block : send) visit(block.data, block.bytes, false);
    for (const Block& block : receive) visit(block.data, block.bytes, true);
  }

 private:
  void announce();
  void run_shared();
  void run_split();
  void run_combine();
  void compare(uint32_t rank, const char* slot, uint64_t* rounds) const;
  uint64_t own_rounds() const;
  // Bytes of a slot for each rank, where a slot is divided.
  uint64_t share_bytes() const;

  template <class Fill> void publish(const Fill& fill);
  template <class Read> void collect(const Read& read);

  const Pattern pattern_;
  Signature signature_;
  uint32_t ticket_ = 0;
  uint64_t rounds_ = 0;
};

}  // namespace softnpu::hccl
