// The uses of vmap that this thread is inside of (Note [Transformations] in core/transform.h), and what operators that
// draw random numbers may do there.
#pragma once

#include <cstdint>

namespace mt {

enum class Randomness : uint8_t {
  error,      // refused
  different,  // each slice has numbers of its own
  same,       // all slices have the same numbers
  unasked,    // refused where a program did not ask for vmap: gradients of batches
};

struct MappedLevel {
  int level;
  int64_t size;  // of the batch
  Randomness randomness;
};

void push_mapped_level(const MappedLevel& level);
MappedLevel pop_mapped_level();
// The innermost that is looked at; null if there is none.
const MappedLevel* mapped_level();
// The one of that number; null if the thread is not inside it.
const MappedLevel* mapped_level(int level);
struct Operator;
// Whether an operator draws random numbers, which is the business of every vmap that it is called in.
bool draws(const Operator& op);
// What such an operator adds to Special of its arguments: inside vmap it is handed over without any
// tensor that asks for it.
uint8_t special_where_drawn();

}  // namespace mt
