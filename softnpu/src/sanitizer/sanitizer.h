// The sanitizer: finds use after free, accesses out of bounds, reads of memory that nothing wrote, and races.
//
// Note [What the sanitizer sees]
// Everything is decided when work is handed over, in the order the host does that: a task's bytes are
// known then, and so is what comes before it. Whether two tasks meet in time does not matter, so a report does
// not depend on luck.
//
// Order is kept with vector clocks (clock.h). A stream is a lane; its clock takes in the host's with every
// task, and an event's with every wait. The host is one lane for all its threads: threads order their work in
// ways that cannot be seen here (locks, joins, Python's own), and a report that is wrong costs more trust than a
// race between two host threads that is missed. A host function in a stream counts as seen by the host once it has
// run, for the same reason.
//
// Views are followed exactly, as runs of bytes: two streams may use the two halves of every row. An access
// of more than kMostRuns runs takes no part in the search for races.
#pragma once

#include <vector>

#include "runtime/hook.h"
#include "sanitizer/access.h"
#include "sanitizer/clock.h"

namespace softnpu {
class Stream;
}

namespace softnpu::sanitizer {

enum Check : uint32_t { kAddress = 1, kUninitialised = 2, kRace = 4 };

inline bool on() { return hooked(kSanitize); }
// Whether freed addresses are to stay unused for a while, so that their use is noticed.
bool keeps_freed_addresses();

// "1" or "all", or a list such as "address,race"; "0", "" or nullptr for none. False if it is not one.
bool parse_checks(const char* text, uint32_t* checks);

// Numbers the calls of the process; the number belongs to the calling thread until its next call.
void begin_call();

// What an operation does with the bytes it reads: `copies` hands them on, so that copying memory that is not
// initialised yet is no defect, and makes the destination (the second access) as initialised as the source.
enum class Effect { computes, copies };

// A task about to be handed to the stream; nullptr: the calling thread does it itself, now.
SOFTNPU_SHARED void operation(const char* name, const Stream* stream, const std::vector<Access>& accesses,
                              Effect effect);
// An access that was refused because the memory is not live.
SOFTNPU_SHARED void refused(const char* name, const char* argument, const void* address, uint64_t bytes,
                            bool write);

void allocated(const char* function, const void* address, uint64_t asked, uint64_t usable);
// Before the memory can be handed out again.
void freed(const char* function, const void* address);
// The device's addresses end with all its streams: nothing can be using them.
void device_reset(const char* function, uintptr_t begin, uintptr_t end);
void freed_host(const char* function, const void* address, uint64_t bytes);

// All that was handed to the stream so far.
Stamp stamp(const Stream& stream);
void host_reached(const Stamp& stamp);
void stream_waits(const Stream& stream, const Stamp& stamp);
void stream_ended(const Stream& stream);

}  // namespace softnpu::sanitizer
