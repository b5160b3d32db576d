#include "runtime/process_exports.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>

namespace softnpu {

namespace {
constexpr uint32_t kRows = 8192;
constexpr uint32_t kSerials = (1u << 24) - 1;
constexpr const char* kFileName = "softnpu-exports";
}  // namespace

class ExportTable {
 public:
  explicit ExportTable(std::shared_ptr<MemoryFile> file) : file_(std::move(file)) {
    void* mapped = mmap(nullptr, sizeof(ExportRecord) * kRows, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE, file_->descriptor(), 0);
    rows_ = mapped == MAP_FAILED ? nullptr : static_cast<ExportRecord*>(mapped);
  }
  ExportTable(const ExportTable&) = delete;
  ~ExportTable() {
    if (rows_ != nullptr) munmap(rows_, sizeof(ExportRecord) * kRows);
  }
  ExportRecord* rows() const { return rows_; }

 private:
  std::shared_ptr<MemoryFile> file_;
  ExportRecord* rows_;
};

namespace {

struct OwnExports {
  std::mutex mutex;
  std::shared_ptr<ExportTable> table;
  uint32_t next = 0;
  uint32_t serial = 0;
};
OwnExports& own_exports() {
  static auto* instance = new OwnExports;
  return *instance;
}

std::shared_ptr<ExportTable> make_own_table() {
  const int descriptor = memfd_create(kFileName, MFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  auto file = std::make_shared<MemoryFile>(descriptor);
  if (ftruncate(descriptor, off_t(sizeof(ExportRecord) * kRows)) != 0) return nullptr;
  auto table = std::make_shared<ExportTable>(std::move(file));
  return table->rows() == nullptr ? nullptr : table;
}

}  // namespace

bool ExportRecord::admits(pid_t pid) const {
  if (open_to_all != 0) return true;
  const uint32_t count = std::min(pid_count.load(std::memory_order_acquire), kMostPids);
  return std::any_of(pids, pids + count, [&](const std::atomic<int32_t>& one) { return one.load() == pid; });
}

bool ExportRecord::admit(const int32_t* added, size_t count) {
  uint32_t known = pid_count.load();
  if (count > kMostPids - known) return false;
  for (size_t i = 0; i < count; ++i) pids[known++].store(added[i]);
  pid_count.store(known, std::memory_order_release);
  return true;
}

ExportName ExportName::from_number(uint64_t number) {
  return {pid_t(number >> 16 & 0xFFFFFF), uint32_t(number & 0xFFFF), uint32_t(number >> 40)};
}

std::string ExportName::text() const {
  return "softnpu-" + std::to_string(pid) + "-" + std::to_string(index) + "-" + std::to_string(serial);
}

bool ExportName::from_text(const char* text, ExportName* name) {
  int length = 0;
  return std::sscanf(text, "softnpu-%d-%u-%u%n", &name->pid, &name->index, &name->serial, &length) == 3 &&
         text[length] == '\0';
}

Export Export::create(std::string* problem) {
  OwnExports& own = own_exports();
  std::lock_guard lock(own.mutex);
  if (own.table == nullptr) own.table = make_own_table();
  if (own.table == nullptr) {
    *problem = std::string("the system gives no memory to share: ") + std::strerror(errno);
    return {};
  }
  for (uint32_t tried = 0; tried < kRows; ++tried) {
    const uint32_t index = own.next++ % kRows;
    ExportRecord& row = own.table->rows()[index];
    if (row.serial.load() != 0 || row.borrowers.load() != 0) continue;
    std::memset(static_cast<void*>(&row), 0, sizeof row);
    own.serial = own.serial % kSerials + 1;
    row.serial.store(own.serial);
    return {own.table, {getpid(), index, own.serial}};
  }
  *problem = "this process shares 8192 things already";
  return {};
}

Export Export::find(const ExportName& name, std::string* problem) {
  std::shared_ptr<ExportTable> table;
  if (name.pid == getpid()) {
    std::lock_guard lock(own_exports().mutex);
    table = own_exports().table;
  } else if (auto file = open_memory_file(name.pid, kFileName)) {
    table = std::make_shared<ExportTable>(std::move(file));
  }
  if (table == nullptr || table->rows() == nullptr) {
    *problem =
        "process " + std::to_string(name.pid) + " shares nothing, has ended, or belongs to another user";
    return {};
  }
  if (name.serial == 0 || name.index >= kRows || table->rows()[name.index].serial.load() != name.serial) {
    *problem = "process " + std::to_string(name.pid) + " does not share this any more";
    return {};
  }
  return {std::move(table), name};
}

ExportRecord* Export::operator->() const { return table_->rows() + name_.index; }

bool Export::is_own() const { return name_.pid == getpid(); }

void Export::end() {
  uint32_t serial = name_.serial;
  (*this)->serial.compare_exchange_strong(serial, 0);
}

}  // namespace softnpu
