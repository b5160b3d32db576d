// Looks a pickle through before anybody opens it: nothing but plain data, and no more of it than fits into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mt::runtime {

// About the bytes that Python's objects will take. Throws ValueError for what is not a whole pickle (protocol 2 to 5) of
// None, bools, numbers, texts, tuples, lists and dicts, and when `most_bytes` would be passed. A pickle is a program for a
// small machine; what runs here is that machine without the objects: it counts.
size_t check_plain_pickle(std::string_view pickle, size_t most_bytes);

}  // namespace mt::runtime
