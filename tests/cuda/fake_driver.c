/* A GPU of nothing, for tests on machines without one: the functions of NVIDIA's driver and of CUPTI that the CUDA backend
   calls, in one library that both names lead to. Memory is the host's, kernels do nothing (unless a test has something in
   their place) and take as many microseconds as they have blocks, copies copy, and CUPTI tells of all of it in records with
   the layouts of CUDA 13's headers, whose clock began an hour before the host's. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long long address;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + 3600ull * 1000000000u;
}

/* ---- what came when, a letter each: k a kernel (q: launched by a thread that did not start the driver), r an event is
   recorded, w a stream waits, c a copy, s a wait of the host, f memory goes back ---- */

static char calls[1 << 16];
static unsigned called;
static pthread_t starter;
static int launch_us, refused_launches;
static void note(char letter) {
  const unsigned at = __atomic_fetch_add(&called, 1, __ATOMIC_SEQ_CST);
  if (at < sizeof calls - 1) calls[at] = letter;
}
const char* fake_calls(void) { return calls; }
void fake_forget_calls(void) {
  memset(calls, 0, sizeof calls);
  called = 0;
}
__attribute__((destructor)) static void tell_calls(void) {
  const char* path = getenv("FAKE_CALLS_AT_THE_END");
  FILE* file = path ? fopen(path, "w") : NULL;
  if (file) fputs(calls, file), fclose(file);
}
/* Launches take so long, and the next so many are refused. */
void fake_launches(int us, int refused) { launch_us = us, refused_launches = refused; }

/* ---- CUPTI ---- */

static int enabled[64];
static uint8_t* buffer;
static size_t room, used;
static void (*wanted)(uint8_t**, size_t*, size_t*);
static void (*done)(void*, uint32_t, uint8_t*, size_t, size_t);
static __thread uint64_t pushed[16];
static __thread int depth;
static uint32_t last_correlation;
static size_t flushes;

int cuptiGetVersion(uint32_t* version) { *version = 130001; return 0; }
int cuptiGetTimestamp(uint64_t* ns) { *ns = now(); return 0; }
int cuptiActivityEnable(int kind) { enabled[kind] = 1; return 0; }
int cuptiActivityDisable(int kind) { enabled[kind] = 0; return 0; }
int cuptiActivityRegisterCallbacks(void* w, void* d) { wanted = w; done = d; return 0; }
int cuptiActivityGetNumDroppedRecords(void* c, uint32_t s, size_t* n) { (void)c, (void)s, *n = 0; return 0; }
int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id) {
  if (kind != 3 || depth == 16) return 1;
  pushed[depth++] = id;
  return 0;
}
int cuptiActivityPopExternalCorrelationId(int kind, uint64_t* id) {
  if (kind != 3 || depth == 0) return 1;
  *id = pushed[--depth];
  return 0;
}
int cuptiGetResultString(int code, const char** text) { (void)code, *text = "fake"; return 0; }
int cuptiGetStreamIdEx(void* context, void* stream, uint8_t mine, uint32_t* id) {
  (void)context, (void)mine;
  *id = *(uint32_t*)stream;
  return 0;
}
static size_t bytes_of(const uint8_t* record) {
  switch (*(const int*)record) {
    case 10: return 216;  /* CUpti_ActivityKernel10 */
    case 1: return 96;    /* CUpti_ActivityMemcpy6 */
    case 2: return 88;    /* CUpti_ActivityMemset4 */
    case 38: return 56;   /* CUpti_ActivitySynchronization2 */
    case 39: return 24;   /* CUpti_ActivityExternalCorrelation */
    default: return 40;   /* CUpti_ActivityAPI */
  }
}
int cuptiActivityGetNextRecord(uint8_t* from, size_t valid, uint8_t** record) {
  *record = *record ? *record + bytes_of(*record) : from;
  return *record < from + valid ? 0 : 12;
}
static void hand_over(void) {
  uint8_t* full = buffer;
  buffer = NULL;
  if (full) done(NULL, 0, full, room, used);
}
int cuptiActivityFlushAll(uint32_t flag) {
  (void)flag;
  pthread_mutex_lock(&lock);
  ++flushes;
  hand_over();
  pthread_mutex_unlock(&lock);
  return 0;
}
static uint8_t* record(int kind, size_t bytes) {
  if (buffer && used + bytes > room) hand_over();
  if (!buffer) {
    size_t most = 0;
    wanted(&buffer, &room, &most);
    used = 0;
    if (room > 4096) room = 4096; /* so that tests see several */
  }
  uint8_t* made = buffer + used;
  used += bytes;
  memset(made, 0, bytes);
  memcpy(made, &kind, sizeof kind);
  return made;
}
#define PUT(type, place, value) do { const type v = (value); memcpy(r + (place), &v, sizeof v); } while (0)

/* The records of a call of the driver, as CUPTI has them: the pushed id, then the call. */
static uint32_t call(void) {
  const uint32_t correlation = ++last_correlation;
  uint8_t* r;
  if (!enabled[4]) return correlation;
  if (enabled[39] && depth) {
    r = record(39, 24);
    PUT(uint32_t, 4, 3);
    PUT(uint64_t, 8, pushed[depth - 1]);
    PUT(uint32_t, 16, correlation);
  }
  r = record(4, 40);
  PUT(uint32_t, 32, correlation);
  return correlation;
}

/* ---- streams: each has a number and the time at which it is idle ---- */

struct stream { uint32_t id; uint64_t idle; };
static uint32_t last_stream = 6;
static struct stream legacy = {7, 0};
static uint64_t run(struct stream* s, uint64_t ns) {
  const uint64_t begin = s->idle > now() + 1000 ? s->idle : now() + 1000;
  s->idle = begin + ns;
  return begin;
}
static void wait_for(const struct stream* s) {
  while (now() < s->idle) {}
}

int cuStreamCreateWithPriority(struct stream** made, unsigned flags, int priority) {
  (void)flags, (void)priority;
  *made = calloc(1, sizeof **made);
  (*made)->id = ++last_stream;
  return 0;
}
int cuStreamSynchronize(struct stream* s) { note('s'); wait_for(s); return 0; }
int cuStreamQuery(struct stream* s) { return now() < s->idle ? 600 : 0; }
int cuStreamWaitEvent(struct stream* s, uint64_t* event, unsigned flags) {
  (void)flags;
  note('w');
  pthread_mutex_lock(&lock);
  const uint32_t correlation = call();
  if (enabled[38]) {
    uint8_t* r = record(38, 56);
    PUT(uint32_t, 4, 2);
    PUT(uint64_t, 8, now());
    PUT(uint64_t, 16, now() + 300);
    PUT(uint32_t, 24, correlation);
    PUT(uint32_t, 32, s->id);
  }
  if (*event > s->idle) s->idle = *event;
  pthread_mutex_unlock(&lock);
  return 0;
}
int cuCtxSynchronize(void) {
  note('s');
  struct timespec t = {0, 2000000};
  nanosleep(&t, NULL);
  return 0;
}

/* Does what a kernel does; null: nothing. */
typedef void (*kernel_hook)(const char* function, unsigned gx, unsigned gy, unsigned bx, unsigned by, unsigned shared,
                            const void* argument);
static kernel_hook does;
void fake_kernels(kernel_hook hook) { does = hook; }

int cuLaunchKernel(const char* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, struct stream* s, void** arguments, void** extra) {
  (void)extra;
  if (launch_us) {
    struct timespec t = {0, 1000l * launch_us};
    nanosleep(&t, NULL);
  }
  note(pthread_equal(pthread_self(), starter) ? 'k' : 'q');
  if (refused_launches && refused_launches--) return 700;
  if (does) does(function, gx, gy, bx, by, shared, arguments[0]);
  pthread_mutex_lock(&lock);
  const uint32_t correlation = call();
  const uint64_t took = 1000ull * gx * gy * gz, begin = run(s, took);
  if (enabled[10]) {
    uint8_t* r = record(10, 216);
    PUT(uint16_t, 6, 24);
    PUT(uint64_t, 16, begin);
    PUT(uint64_t, 24, begin + took);
    PUT(uint32_t, 48, s->id);
    PUT(uint32_t, 52, gx); PUT(uint32_t, 56, gy); PUT(uint32_t, 60, gz);
    PUT(uint32_t, 64, bx); PUT(uint32_t, 68, by); PUT(uint32_t, 72, bz);
    PUT(int32_t, 80, (int32_t)shared);
    PUT(uint32_t, 92, correlation);
    PUT(const char*, 104, function);
  }
  pthread_mutex_unlock(&lock);
  return 0;
}
/* Two kernels of a library, with the names that compilers give. */
void fake_library_call(struct stream* s) {
  cuLaunchKernel("_Z10first_halfPfi", 2, 1, 1, 64, 1, 1, 16, s, NULL, NULL);
  cuLaunchKernel("second_half", 3, 1, 1, 64, 1, 1, 0, s, NULL, NULL);
}

static void copied(address to, address from, size_t bytes, struct stream* s, int kind) {
  pthread_mutex_lock(&lock);
  const uint32_t correlation = call();
  const uint64_t begin = run(s, bytes);
  note('c');
  memcpy((void*)to, (const void*)from, bytes);
  if (enabled[1]) {
    uint8_t* r = record(1, 96);
    PUT(uint8_t, 4, (uint8_t)kind);
    PUT(uint8_t, 5, kind == 1 ? 2 : 3);
    PUT(uint8_t, 6, kind == 1 ? 3 : 2);
    PUT(uint64_t, 8, bytes);
    PUT(uint64_t, 16, begin);
    PUT(uint64_t, 24, begin + bytes);
    PUT(uint32_t, 40, s->id);
    PUT(uint32_t, 44, correlation);
  }
  pthread_mutex_unlock(&lock);
}
int cuMemcpy(address to, address from, size_t bytes) { copied(to, from, bytes, &legacy, 2); return 0; }
int cuMemcpyAsync(address to, address from, size_t bytes, struct stream* s) { copied(to, from, bytes, s, 1); return 0; }
int cuMemsetD8Async(address to, unsigned char value, size_t bytes, struct stream* s) {
  memset((void*)to, value, bytes);
  pthread_mutex_lock(&lock);
  const uint32_t correlation = call();
  const uint64_t begin = run(s, 500);
  if (enabled[2]) {
    uint8_t* r = record(2, 88);
    PUT(uint64_t, 8, bytes);
    PUT(uint64_t, 16, begin);
    PUT(uint64_t, 24, begin + 500);
    PUT(uint32_t, 40, s->id);
    PUT(uint32_t, 44, correlation);
    PUT(uint16_t, 50, 3);
  }
  pthread_mutex_unlock(&lock);
  return 0;
}

/* ---- the rest of the driver ---- */

int cuInit(unsigned flags) { (void)flags; starter = pthread_self(); return 0; }
int cuDriverGetVersion(int* version) { *version = 13000; return 0; }
int cuGetErrorName(int code, const char** text) { (void)code, *text = "FAKE"; return 0; }
int cuGetErrorString(int code, const char** text) { (void)code, *text = "fake error"; return 0; }
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char* name, int length, int device) { (void)device; snprintf(name, (size_t)length, "Fake GPU"); return 0; }
int cuDeviceGetUuid_v2(char* uuid, int device) { (void)device; memset(uuid, 1, 16); return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 4 : attribute == 39 ? 2048
           : attribute == 97 ? 227 << 10 : 32;
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) { (void)device; *bytes = (size_t)1 << 30; return 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { (void)device; *context = &lock; return 0; }
int cuCtxSetCurrent(void* context) { (void)context; return 0; }
int cuCtxGetCurrent(void** context) { *context = &lock; return 0; }
int cuCtxGetStreamPriorityRange(int* least, int* greatest) { *least = 0, *greatest = -5; return 0; }
int cuMemGetInfo_v2(size_t* free, size_t* total) { *free = *total = (size_t)1 << 30; return 0; }
int cuEventCreate(uint64_t** event, unsigned flags) { (void)flags; *event = calloc(1, sizeof **event); return 0; }
int cuEventDestroy_v2(uint64_t* event) { free(event); return 0; }
int cuEventRecord(uint64_t* event, struct stream* s) { note('r'); *event = s->idle > now() ? s->idle : now(); return 0; }
int cuEventQuery(uint64_t* event) { return now() < *event ? 600 : 0; }
int cuEventSynchronize(uint64_t* event) { while (now() < *event) {} return 0; }
int cuEventElapsedTime(float* ms, uint64_t* a, uint64_t* b) { *ms = (float)((double)(int64_t)(*b - *a) * 1e-6); return 0; }
int cuMemAlloc_v2(address* to, size_t bytes) { void* p = NULL; if (posix_memalign(&p, 512, bytes)) return 2; *to = (address)p; return 0; }
int cuMemFree_v2(address at) { note('f'); free((void*)at); return 0; }
int cuMemHostAlloc(void** to, size_t bytes, unsigned flags) { (void)flags; return posix_memalign(to, 512, bytes) ? 2 : 0; }
int cuMemFreeHost(void* at) { free(at); return 0; }
/* A function is its name, or what its body calls where fake_compiler.c handed the source on; behind its zero comes the
   source. */
int cuModuleLoadData(char** module, const char* image) {
  *module = strdup(strncmp(image, "#include", 8) ? "" : image);
  return 0;
}
int cuModuleGetFunction(const char** function, const char* module, const char* name) {
  char head[64];
  snprintf(head, sizeof head, " %s(const", name);
  const char* found = strstr(module, head);
  const char* body = found ? strstr(found, "{ ") : NULL;
  const size_t length = body ? strcspn(body + 2, "(") : strlen(name);
  char* made = calloc(1, length + strlen(module) + 2);
  memcpy(made, body ? body + 2 : name, length);
  strcpy(made + length + 1, module);
  *function = made;
  return 0;
}
int cuFuncSetAttribute(void* function, int attribute, int value) { (void)function, (void)attribute, (void)value; return 0; }
int cuThreadExchangeStreamCaptureMode(int* mode) { (void)mode; return 0; }
int cuStreamGetCaptureInfo_v2(void* s, int* status, uint64_t* id, void** g, const void* d, size_t* n) {
  (void)s, (void)g, (void)d, (void)n;
  *status = 0, *id = 0;
  return 0;
}
/* NVRTC asks the driver for a table that it may have; this one has nothing in it but its size. */
int cuGetExportTable(const void** table, const void* id) {
  static const size_t empty[] = {sizeof(size_t), 0, 0, 0};
  (void)id;
  *table = empty;
  return 0;
}
/* What no test calls; the table of functions wants their names. */
#define REFUSED(name) int name(void) { return 801; }
REFUSED(cuIpcGetEventHandle) REFUSED(cuIpcOpenEventHandle) REFUSED(cuDeviceCanAccessPeer) REFUSED(cuCtxEnablePeerAccess)
REFUSED(cuMemGetAllocationGranularity) REFUSED(cuMemAddressReserve) REFUSED(cuMemAddressFree) REFUSED(cuMemCreate)
REFUSED(cuMemRelease) REFUSED(cuMemMap) REFUSED(cuMemUnmap) REFUSED(cuMemSetAccess) REFUSED(cuStreamBeginCapture_v2)
REFUSED(cuStreamEndCapture) REFUSED(cuGraphInstantiateWithFlags) REFUSED(cuGraphLaunch) REFUSED(cuGraphExecDestroy)
REFUSED(cuGraphDestroy) REFUSED(cuGraphDebugDotPrint)

size_t fake_flushes(void) { return flushes; }
int fake_enabled(int kind) { return enabled[kind]; }
