// What a process lends to others: pieces of device memory and events. Each process that lends keeps a table
// in a memory file, which the borrower finds by the process id in the handle and maps.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/memory_file.h"

namespace softnpu {

// An event that several processes record and wait for: the number of recordings made and reached.
struct SharedEvent {
  std::atomic<uint64_t> recorded;
  std::atomic<uint64_t> reached;
  std::atomic<uint32_t> word;  // changes with `reached`; to sleep on
};

// A row of the table. Zero bytes are a row that is free.
struct ExportRecord {
  static constexpr uint32_t kMostPids = 128;

  std::atomic<uint32_t> serial;  // the handle's; 0 when the row is free
  std::atomic<uint32_t> borrowers;
  int32_t device;
  uint32_t open_to_all;
  uint64_t offset, size;
  SharedEvent event;
  std::atomic<uint32_t> pid_count;
  std::atomic<int32_t> pids[kMostPids];

  bool admits(pid_t pid) const;
  // False when there is no room left.
  bool admit(const int32_t* added, size_t count);
};

// Names a row of some process. As text for aclrtIpcMem... keys, as a number for shareable handles.
struct ExportName {
  pid_t pid = 0;
  uint32_t index = 0;
  uint32_t serial = 0;

  uint64_t number() const { return uint64_t(serial) << 40 | uint64_t(pid) << 16 | index; }
  static ExportName from_number(uint64_t number);
  std::string text() const;
  static bool from_text(const char* text, ExportName* name);
};

// A row in use, of this process or of another one; keeps the table mapped.
class ExportTable;
class Export {
 public:
  Export() = default;
  Export(std::shared_ptr<ExportTable> table, ExportName name) : table_(std::move(table)), name_(name) {}
  // A fresh row of this process; empty with a reason when there is none.
  static Export create(std::string* problem);
  // The row of a name; empty with a reason when its process or the row is gone.
  static Export find(const ExportName& name, std::string* problem);

  explicit operator bool() const { return table_ != nullptr; }
  ExportRecord* operator->() const;
  const ExportName& name() const { return name_; }
  bool is_own() const;
  // Ends the row: its name is not found any more.
  void end();

 private:
  std::shared_ptr<ExportTable> table_;
  ExportName name_;
};

}  // namespace softnpu
