// The arguments of an operator in a few words of memory.
#pragma once

#include "core/observe.h"
#include "profiler/event.h"

namespace mt::profiler {

// Encoded: how many words there are, this one included, how many arguments, then per argument a tag, which is a value of ObservedArgument::Kind, and
//   tensor    dtype, dimensions, sizes, strides
//   tensors   count, then as many tensors (each with its tag; undefined ones are `other`)
//   boolean, integer, real (its bits)   one word
//   integers  count, values
//   text      bytes, characters
// An undefined tensor, and whatever else is not shown, is a tag `other` alone.
const int64_t* encode_inputs(Chunk& chunk, ObservedArguments arguments);

}  // namespace mt::profiler
