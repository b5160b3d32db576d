#include "sanitizer/report.h"

#include "base/error.h"
#include "runtime/error.h"
#include "runtime/hook.h"

namespace softnpu::sanitizer {
namespace {

const char* name_of(Defect defect) {
  switch (defect) {
    case Defect::use_after_free: return "use after free";
    case Defect::out_of_bounds: return "out of bounds";
    case Defect::uninitialised: return "uninitialised read";
    case Defect::race: return "race";
  }
  return "";
}

const void* pointer(uintptr_t address) { return reinterpret_cast<const void*>(address); }

std::string place(const Operation& operation) {
  if (operation.stream < 0) return "in the host";
  return mt::join_text("on stream ", operation.stream, " of device ", operation.device);
}

std::string line(const char* role, const Operation& operation) {
  std::string out = mt::join_text("  ", role, ": ", operation.name, " ", place(operation), ", call ",
                                  operation.call, ", thread ", operation.thread, "\n");
  if (!operation.note.empty()) out += mt::join_text("    launched by ", operation.note, "\n");
  return out;
}

std::string json(const Operation& operation, const char* argument, bool wrote) {
  std::string out =
      mt::join_text("{\"name\": ", json_text(operation.name), ", \"stream\": ", operation.stream,
                    ", \"device\": ", operation.device, ", \"call\": ", operation.call,
                    ", \"thread\": ", operation.thread, ", \"access\": \"", wrote ? "write" : "read", "\"");
  if (argument != nullptr) out += mt::join_text(", \"argument\": ", json_text(argument));
  if (!operation.note.empty()) out += mt::join_text(", \"note\": ", json_text(operation.note));
  return out + "}";
}

std::string json(const Memory& memory) {
  std::string out = mt::join_text("{\"address\": \"", pointer(memory.bytes.begin),
                                  "\", \"bytes\": ", memory.bytes.end - memory.bytes.begin);
  if (memory.made)
    out += mt::join_text(", \"made_by\": ", json_text(memory.made->name),
                         ", \"made_call\": ", memory.made->call);
  if (memory.freed)
    out += mt::join_text(", \"freed_by\": ", json_text(memory.freed->name),
                         ", \"freed_call\": ", memory.freed->call);
  return out + "}";
}

std::string readable(const Report& report) {
  std::string out = mt::join_text("softnpu sanitizer: ", name_of(report.defect), ": ", report.sentence, "\n");
  out += line(report.wrote ? "writes" : "reads ", *report.operation);
  if (report.other) out += line(report.other_wrote ? "wrote " : "read  ", *report.other);
  if (report.memory.made)
    out += mt::join_text("  memory: ", report.memory.bytes.end - report.memory.bytes.begin, " bytes at ",
                         pointer(report.memory.bytes.begin), ", from ", report.memory.made->name, ", call ",
                         report.memory.made->call, "\n");
  if (report.memory.freed) out += line("freed ", *report.memory.freed);
  if (!report.advice.empty()) out += mt::join_text("  ", report.advice, "\n");
  return out;
}

std::string json_line(const Report& report) {
  std::string out =
      mt::join_text("{\"kind\": \"", name_of(report.defect), "\", \"message\": ", json_text(report.sentence),
                    ", \"address\": \"", pointer(report.bytes.begin),
                    "\", \"bytes\": ", report.bytes.end - report.bytes.begin,
                    ", \"operation\": ", json(*report.operation, report.argument, report.wrote));
  if (report.other) out += mt::join_text(", \"other\": ", json(*report.other, nullptr, report.other_wrote));
  if (report.memory.made) out += mt::join_text(", \"allocation\": ", json(report.memory));
  return out + "}\n";
}

}  // namespace

bool Reporter::log_to(const char* path) {
  // Appending, because the processes of one program share the setting.
  std::FILE* opened = path == nullptr ? nullptr : std::fopen(path, "ae");
  if (path != nullptr && opened == nullptr) return false;
  if (log_ != nullptr) std::fclose(log_);
  log_ = opened;
  return true;
}

void Reporter::tell(const Report& report) {
  auto side = [](const OperationPointer& operation) {
    return operation ? mt::join_text(operation->name, "@", operation->stream, "|") : std::string("|");
  };
  // Two operations that race in place do so by reading and by writing: one report.
  const bool by_argument = report.argument != nullptr && report.defect != Defect::race;
  const std::string key = mt::join_text(int(report.defect), "|", side(report.operation),
                                        by_argument ? report.argument : "", "|", side(report.other));
  if (!told_.insert(key).second) return;
  ++count_;
  std::fputs(readable(report).c_str(), stderr);
  if (log_ == nullptr) return;
  std::fputs(json_line(report).c_str(), log_);
  std::fflush(log_);
}

void Reporter::reset() {
  count_ = 0;
  told_.clear();
}

}  // namespace softnpu::sanitizer
