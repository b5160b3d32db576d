#include "hccl/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "hccl/failure.h"
#include "runtime/futex.h"

namespace softnpu::hccl {
namespace {

constexpr int64_t kPoll = 10'000'000;  // ns between looks at whether the others are alive
constexpr uint64_t kHeaderBytes = 4096;
constexpr uint64_t kMostChannelBytes = 128 << 10;
constexpr uint64_t kAllChannelBytes = 256 << 20;
static_assert(sizeof(SegmentHeader) <= kHeaderBytes);

// What the opaque bytes of a root info hold.
struct Address {
  char magic[16];
  uint64_t identity;
  PeerProcess process;
  int32_t file;
};
constexpr char kMagic[16] = "softnpu-hccl-1";

Address address_of(const HcclRootInfo& info) {
  Address address;
  std::memcpy(&address, info.internal, sizeof address);
  if (std::memcmp(address.magic, kMagic, sizeof kMagic) != 0)
    refuse(HCCL_E_PARA, "rootInfo does not come from HcclGetRootInfo of the software NPU");
  return address;
}

// The files of segments this process made and that still have ranks to come.
struct OpenFiles {
  std::mutex mutex;
  std::map<uint64_t, int> by_identity;
};
OpenFiles& open_files() {
  static auto* instance = new OpenFiles;
  return *instance;
}

uint64_t channel_size(uint64_t ranks) {
  const uint64_t share = kAllChannelBytes / (ranks * ranks);
  return std::clamp<uint64_t>(share / 4096 * 4096, 4096, kMostChannelBytes);
}

uint64_t slots_offset(uint64_t ranks) { return (kHeaderBytes + ranks * sizeof(Member) + 4095) / 4096 * 4096; }
uint64_t channels_offset(uint64_t ranks) { return slots_offset(ranks) + ranks * 2 * kSlotBytes; }
uint64_t segment_bytes(uint64_t ranks) {
  return channels_offset(ranks) + ranks * ranks * (offsetof(Channel, bytes) + channel_size(ranks));
}

// A descriptor that closes itself.
struct File {
  explicit File(int opened) : descriptor(opened) {}
  File(const File&) = delete;
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
  int descriptor;
};

}  // namespace

void Segment::create(HcclRootInfo* info) {
  Address address{};
  std::memcpy(address.magic, kMagic, sizeof kMagic);
  if (getrandom(&address.identity, sizeof address.identity, 0) != sizeof address.identity)
    refuse(HCCL_E_SYSCALL, "no random number for the communicator: ", std::strerror(errno));
  address.process = this_process();
  address.file = memfd_create("softnpu-hccl", MFD_CLOEXEC);
  if (address.file < 0 || ftruncate(address.file, kHeaderBytes) != 0 ||
      pwrite(address.file, &address.identity, sizeof address.identity, 0) != sizeof address.identity) {
    const int problem = errno;
    if (address.file >= 0) close(address.file);
    refuse(HCCL_E_SYSCALL, "cannot make shared memory: ", std::strerror(problem));
  }
  OpenFiles& files = open_files();
  std::lock_guard lock(files.mutex);
  files.by_identity.emplace(address.identity, address.file);
  std::memset(info->internal, 0, sizeof info->internal);
  std::memcpy(info->internal, &address, sizeof address);
}

void Segment::close_to_others(const HcclRootInfo& info) {
  OpenFiles& files = open_files();
  std::lock_guard lock(files.mutex);
  const auto found = files.by_identity.find(address_of(info).identity);
  if (found == files.by_identity.end()) return;
  close(found->second);
  files.by_identity.erase(found);
}

Segment::Segment(char* base, const HcclRootInfo& info, uint32_t ranks, uint32_t rank)
    : base_(base), info_(info), ranks_(ranks), rank_(rank), channel_bytes_(channel_size(ranks)) {}

Segment::Join Segment::attach(const HcclRootInfo& info, uint32_t ranks, uint32_t rank, int32_t device,
                              std::unique_ptr<Segment>* segment) {
  if (ranks == 0 || ranks > kMaxRanks)
    refuse(HCCL_E_PARA, "the number of ranks is ", ranks, ", wanted 1 to ", kMaxRanks);
  if (rank >= ranks) refuse(HCCL_E_PARA, "the rank is ", rank, ", but there are ", ranks, " ranks");
  const Address address = address_of(info);
  const std::string path =
      "/proc/" + std::to_string(address.process.id) + "/fd/" + std::to_string(address.file);
  const File file(is_alive(address.process) ? open(path.c_str(), O_RDWR | O_CLOEXEC) : -1);
  uint64_t identity = 0;
  if (file.descriptor < 0 || pread(file.descriptor, &identity, sizeof identity, 0) != sizeof identity ||
      identity != address.identity)
    refuse(HCCL_E_TCP_CONNECT, "process ", address.process.id,
           ", which called HcclGetRootInfo, has ended, or all its ranks have joined already");
  // Every rank does this: the same size each time, and what is there stays.
  const uint64_t bytes = segment_bytes(ranks);
  struct stat status;
  if (fstat(file.descriptor, &status) != 0 ||
      (uint64_t(status.st_size) < bytes && ftruncate(file.descriptor, off_t(bytes)) != 0))
    refuse(HCCL_E_MEMORY, "cannot make ", bytes, " bytes of shared memory: ", std::strerror(errno));
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0);
  if (base == MAP_FAILED)
    refuse(HCCL_E_MEMORY, "cannot map ", bytes, " bytes of shared memory: ", std::strerror(errno));
  std::unique_ptr<Segment> mapped(new Segment(static_cast<char*>(base), info, ranks, rank));
  if (mapped->complete()) return Join::full;
  mapped->take_place(device);
  *segment = std::move(mapped);
  return Join::joined;
}

void Segment::take_place(int32_t device) {
  uint32_t agreed = 0;
  if (!header().ranks.compare_exchange_strong(agreed, ranks_) && agreed != ranks_)
    refuse(HCCL_E_PARA, "rank ", rank_, " says there are ", ranks_, " ranks, another said ", agreed);
  uint32_t state = kAbsent;
  if (!self().state.compare_exchange_strong(state, kJoining))
    refuse(HCCL_E_PARA, "rank ", rank_, " has joined already, from process ", self().process.id);
  self().process = this_process();
  self().device = device;
  self().state.store(kJoined);
  joined_ = true;
  header().joined.fetch_add(1);
  futex_wake_all(header().joined, kBetweenProcesses);
}

Segment::~Segment() {
  if (joined_) self().state.store(kLeft);
  munmap(base_, segment_bytes(ranks_));
}

void Segment::check_joining(int64_t start, uint32_t timeout_seconds) const {
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    const uint32_t state = member(rank).state.load();
    if (state == kLeft || (state == kJoined && !is_alive(member(rank).process)))
      refuse(HCCL_E_REMOTE, rank_text(*this, rank), " ended before all ranks had joined");
  }
  const PeerProcess root = address_of(info_).process;
  if (!is_alive(root))
    refuse(HCCL_E_TCP_CONNECT, "process ", root.id,
           ", which called HcclGetRootInfo, ended before all ranks had joined");
  if (now_ns() - start > int64_t(timeout_seconds) * 1'000'000'000)
    refuse(HCCL_E_TIMEOUT, "rank ", rank_, " waited ", timeout_seconds,
           " s (HCCL_CONNECT_TIMEOUT) for the others; of ", ranks_,
           " ranks these are missing: ", absent_ranks());
}

void Segment::wait_until_complete(uint32_t timeout_seconds) {
  for (const int64_t start = now_ns();;) {
    const uint32_t joined = header().joined.load();
    if (joined == ranks_) break;
    futex_wait(header().joined, joined, kPoll, kBetweenProcesses);
    if (!complete()) check_joining(start, timeout_seconds);
  }
  close_to_others(info_);
}

std::string Segment::absent_ranks() const {
  std::string text;
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    if (member(rank).state.load() < kJoined) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  }
  return text;
}

Member& Segment::member(uint32_t rank) const {
  return *reinterpret_cast<Member*>(base_ + kHeaderBytes + rank * sizeof(Member));
}

char* Segment::slot(uint32_t rank, uint32_t round) const {
  return base_ + slots_offset(ranks_) + (uint64_t(rank) * 2 + round % 2) * kSlotBytes;
}

Channel& Segment::channel(uint32_t from, uint32_t to) const {
  const uint64_t each = offsetof(Channel, bytes) + channel_bytes_;
  return *reinterpret_cast<Channel*>(base_ + channels_offset(ranks_) + (uint64_t(from) * ranks_ + to) * each);
}

std::string rank_text(const Segment& segment, uint32_t rank) {
  return "rank " + std::to_string(rank) + " (process " + std::to_string(segment.member(rank).process.id) +
         ")";
}

}  // namespace softnpu::hccl
