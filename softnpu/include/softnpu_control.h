/* Control of the software NPU, for tests and for tools. Exported by its libascendcl.so; the real one has none
 * of these, so a program that wants to run on both looks them up with dlsym.
 *
 * The same settings by environment, read once, before the first call:
 *   SOFTNPU_DEVICES=2  SOFTNPU_MEMORY=2GiB  SOFTNPU_SOC=Ascend910B1  SOFTNPU_DELAY_US=100  SOFTNPU_POISON=1
 *   SOFTNPU_TRACE=/path/calls.jsonl  SOFTNPU_FAIL=aclrtMalloc:3:207001[:count][,...]
 *   SOFTNPU_SANITIZE=1 (or address,uninitialised,race)  SOFTNPU_SANITIZE_LOG=/path/reports.jsonl
 *   SOFTNPU_SCHEDULE=seed
 */
#ifndef SOFTNPU_CONTROL_H
#define SOFTNPU_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Device count, and memory per device in bytes. Returns 0 when it is too late: a device was used already. */
int softnpu_set_devices(uint32_t count);
int softnpu_set_memory(uint64_t bytes_per_device);
/* The chip it passes for ("Ascend910B1", or short "910B1"): what aclrtGetSocName says, core counts, the cache, and
 * whether there is bfloat16. Best before the first use: programs ask once. Returns 0 for a name that is not one
 * of softnpu_socs(), a list separated by ", ". */
int softnpu_set_soc(const char* name);
const char* softnpu_socs(void);

/* Makes calls of `function` return `code`: the nth call from now (1 = the next) and the count-1 calls after;
 * count -1 means always. "*" matches every call except those that give something back (aclrtFree,
 * aclDestroy..., aclrtDestroy..., aclrtReset..., aclFinalize), which fail only by name. "task:aclnnAdd" or
 * "task:*" fails the operator on the device instead, so that the next synchronisation reports it. A
 * function that returns a pointer returns NULL. */
void softnpu_fail(const char* function, uint64_t nth, int code, int64_t count);
void softnpu_fail_clear(void);
/* How many calls and tasks have failed on request since the last softnpu_fail_clear. */
uint64_t softnpu_failures(void);

/* Counts the calls that softnpu_fail("*", ...) can reach, from the first reset on. */
void softnpu_calls_reset(void);
uint64_t softnpu_calls(void);

/* Writes one JSON object per call (function, args, thread, time) to a file; NULL stops. 0 if it cannot open. */
int softnpu_trace(const char* path);

/* Microseconds that every operator and copy takes longer. */
void softnpu_set_delay(uint32_t microseconds);
/* Fills fresh and freed device memory with bytes that are NaN (0xFF) and a huge negative number (0xFE). */
void softnpu_set_poison(int on);

/* A closed gate holds back the work of a stream (NULL: of every stream) until it opens: tests control time
 * with it instead of sleeping. At most 1024 tasks can wait in a stream; launching more blocks the caller. */
void softnpu_gate(void* stream, int closed);

/* The sanitizer: "1" or "all", or a list of "address" (use after free, out of bounds), "uninitialised" (reads of
 * memory that nothing wrote) and "race" (two streams, or a stream and the host, that use the same bytes with nothing to
 * order them, one of them writing). "0" or NULL turns it off. Starts the count of reports at 0; memory allocated
 * while it was off is not watched. Returns 0, changing nothing, if the text is not such a list. */
int softnpu_sanitize(const char* what);
/* 0 if it is off. */
int softnpu_sanitizing(void);
/* Different reports so far. Each is told on stderr, and as a JSON line in the log; a repetition is not. */
uint64_t softnpu_sanitizer_reports(void);
/* Appends to a file; NULL stops. 0 if it cannot open. */
int softnpu_sanitize_log(const char* path);
/* Called with every launch while the sanitizer is on, in the launching thread: says where in the program that
 * is, as a text that lives until the thread's next launch, or NULL. For the reports. */
typedef const char* (*softnpu_launch_note)(void);
void softnpu_set_launch_note(softnpu_launch_note note);
/* For an allocator that hands out pieces of large allocations, without which the sanitizer knows only those: this
 * range of device memory now belongs to somebody (and holds nothing yet), or to nobody. Cheap when it is off. */
void softnpu_mark_used(const void* address, uint64_t bytes);
void softnpu_mark_free(const void* address, uint64_t bytes);

/* Adversarial scheduling: work waits until the host asks for a result, and the seed then decides which stream
 * goes first wherever no event does. Best before the first stream; on = 0 ends it. */
void softnpu_schedule(uint64_t seed, int on);

/* Bytes of device memory now allocated, as aclrtGetMemInfo counts them. */
uint64_t softnpu_live_bytes(int32_t device);
/* Streams and events that exist, the default streams excepted. */
uint64_t softnpu_live_streams(void);
uint64_t softnpu_live_events(void);

/* Whether an ACLNN operator ("aclnnAdd") computes; every other one of the ABI refuses in its first phase. Exported by
 * libopapi.so. */
int softnpu_implements(const char* operator_name);

#ifdef __cplusplus
}
#endif
#endif
