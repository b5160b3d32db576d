/* NCCL's functions over the software NPU's collectives, for tests without a GPU: streams, memory and what goes wrong are
 * the software NPU's. A group of sends and receives is one exchange of all with all. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { char internal[4108]; } RootInfo;
int HcclGetRootInfo(RootInfo* info);
int HcclCommInitRootInfo(uint32_t ranks, const RootInfo* info, uint32_t rank, void** comm);
int HcclCommDestroy(void* comm);
int HcclGetCommAsyncError(void* comm, int* error);
int HcclAllReduce(void* from, void* to, uint64_t count, int type, int op, void* comm, void* stream);
int HcclReduce(void* from, void* to, uint64_t count, int type, int op, uint32_t root, void* comm, void* stream);
int HcclBroadcast(void* data, uint64_t count, int type, uint32_t root, void* comm, void* stream);
int HcclAllGather(void* from, void* to, uint64_t count, int type, void* comm, void* stream);
int HcclReduceScatter(void* from, void* to, uint64_t count, int type, int op, void* comm, void* stream);
int HcclAlltoAllV(const void* from, const void* counts, const void* begins, int type, const void* to,
                  const void* to_counts, const void* to_begins, int to_type, void* comm, void* stream);
int HcclSend(void* data, uint64_t count, int type, uint32_t peer, void* comm, void* stream);
int HcclRecv(void* data, uint64_t count, int type, uint32_t peer, void* comm, void* stream);

enum { kMost = 64, kSystemError = 2, kInvalid = 4, kRemoteError = 6 };
typedef struct { char bytes[128]; } Id;
typedef struct { void* comm; int ranks, rank; } Comm;
typedef struct { int sends, peer, type; uint64_t count; char* data; } Message;

/* NCCL's numbers of types: int8 uint8 int32 uint32 int64 uint64 float16 float32 float64 bfloat16 */
static const int kTypes[] = {0, 7, 2, 9, 5, 6, 3, 4, 10, 11};
static const int kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
static __thread int t_depth, t_count;
static __thread Message t_messages[2 * kMost];
static __thread Comm* t_comm;
static __thread void* t_stream;

static int told(int code) { return code ? kSystemError : 0; }

int ncclGetVersion(int* version) { *version = 22703; return 0; }
const char* ncclGetErrorString(int code) {
  return code == kRemoteError ? "remote process exited or there was a network error" : "unhandled system error";
}
const char* ncclGetLastError(Comm* comm) { (void)comm; return "the fake library's last words"; }

int ncclGetUniqueId(Id* id) {
  RootInfo info;
  if (HcclGetRootInfo(&info)) return kSystemError;
  memset(id, 0, sizeof *id);
  const char* folder = getenv("FAKE_NCCL_FOLDER");
  if (!folder) return kInvalid;
  snprintf(id->bytes, sizeof id->bytes, "%s/XXXXXX", folder);
  const int file = mkstemp(id->bytes);
  if (file < 0) return kSystemError;
  const int whole = write(file, &info, sizeof info) == (ssize_t)sizeof info;
  close(file);
  return whole ? 0 : kSystemError;
}

int ncclCommInitRank(Comm** made, int ranks, Id id, int rank) {
  RootInfo info;
  FILE* file = fopen(id.bytes, "rb");
  if (!file) return kInvalid;
  const size_t read = fread(&info, 1, sizeof info, file);
  fclose(file);
  if (read != sizeof info || ranks > kMost) return kInvalid;
  Comm* comm = calloc(1, sizeof *comm);
  comm->ranks = ranks;
  comm->rank = rank;
  if (HcclCommInitRootInfo((uint32_t)ranks, &info, (uint32_t)rank, &comm->comm)) return kSystemError;
  *made = comm;
  return 0;
}

static void note(const char* what) { /* the tests read how a communicator ended */
  const char* folder = getenv("FAKE_NCCL_FOLDER");
  char path[512];
  snprintf(path, sizeof path, "%s/%s.%d", folder ? folder : ".", what, (int)getpid());
  FILE* file = fopen(path, "a");
  if (file) { fputc('x', file); fclose(file); }
}

int ncclCommFinalize(Comm* comm) { (void)comm; note("finalized"); return 0; }
int ncclCommDestroy(Comm* comm) { return told(HcclCommDestroy(comm->comm)); }
/* What is under way ends by the software NPU's own time limit (HCCL_EXEC_TIMEOUT), so the communicator stays. */
int ncclCommAbort(Comm* comm) { (void)comm; note("aborted"); return 0; }
int ncclCommGetAsyncError(Comm* comm, int* error) {
  int found = 0;
  if (HcclGetCommAsyncError(comm->comm, &found)) return kSystemError;
  *error = found ? kRemoteError : 0;
  return 0;
}

int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, Comm* comm, void* stream) {
  return told(HcclAllReduce((void*)from, to, count, kTypes[type], op, comm->comm, stream));
}
int ncclReduce(const void* from, void* to, size_t count, int type, int op, int root, Comm* comm, void* stream) {
  return told(HcclReduce((void*)from, to, count, kTypes[type], op, (uint32_t)root, comm->comm, stream));
}
int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, Comm* comm, void* stream) {
  if (from != to) return kInvalid;
  return told(HcclBroadcast(to, count, kTypes[type], (uint32_t)root, comm->comm, stream));
}
int ncclAllGather(const void* from, void* to, size_t count, int type, Comm* comm, void* stream) {
  return told(HcclAllGather((void*)from, to, count, kTypes[type], comm->comm, stream));
}
int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, Comm* comm, void* stream) {
  return told(HcclReduceScatter((void*)from, to, count, kTypes[type], op, comm->comm, stream));
}

static int queue(int sends, const void* data, size_t count, int type, int peer, Comm* comm, void* stream) {
  if (t_count == 2 * kMost) return kInvalid;
  t_messages[t_count++] = (Message){sends, peer, type, count, (char*)data};
  t_comm = comm;
  t_stream = stream;
  return 0;
}
int ncclSend(const void* data, size_t count, int type, int peer, Comm* comm, void* stream) {
  if (t_depth) return queue(1, data, count, type, peer, comm, stream);
  return told(HcclSend((void*)data, count, kTypes[type], (uint32_t)peer, comm->comm, stream));
}
int ncclRecv(void* data, size_t count, int type, int peer, Comm* comm, void* stream) {
  if (t_depth) return queue(0, data, count, type, peer, comm, stream);
  return told(HcclRecv(data, count, kTypes[type], (uint32_t)peer, comm->comm, stream));
}
int ncclGroupStart(void) { ++t_depth; return 0; }
int ncclGroupEnd(void) {
  if (--t_depth || !t_comm) return 0;
  uint64_t counts[2][kMost] = {{0}}, begins[2][kMost] = {{0}};
  char* base[2] = {0, 0};
  int type = t_count ? t_messages[0].type : 0;
  for (int i = 0; i < t_count; ++i)
    if (!base[t_messages[i].sends] || t_messages[i].data < base[t_messages[i].sends])
      base[t_messages[i].sends] = t_messages[i].data;
  for (int i = 0; i < t_count; ++i) {
    const Message* each = &t_messages[i];
    counts[each->sends][each->peer] = each->count;
    begins[each->sends][each->peer] = (uint64_t)(each->data - base[each->sends]) / (uint64_t)kSizes[each->type];
  }
  Comm* comm = t_comm;
  t_count = 0;
  t_comm = NULL;
  return told(HcclAlltoAllV(base[1], counts[1], begins[1], kTypes[type], base[0], counts[0], begins[0],
                            kTypes[type], comm->comm, t_stream));
}
