#include "runtime/config.h"

#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "sanitizer/sanitizer.h"
#include "softnpu_control.h"

namespace softnpu {
namespace {

bool parse_number(const std::string& text, uint64_t* value) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  char* end = nullptr;
  errno = 0;
  *value = std::strtoull(text.c_str(), &end, 10);
  return errno == 0 && *end == '\0';
}

void complain(Config& c, const char* name, const char* got, const char* wanted) {
  if (c.problem.empty()) c.problem = std::string(name) + "=" + got + " cannot be used; wanted " + wanted;
}

uint64_t read_number(Config& c, const char* name, uint64_t otherwise, uint64_t most, const char* wanted) {
  const char* text = std::getenv(name);
  if (text == nullptr) return otherwise;
  uint64_t value = 0;
  if (parse_number(text, &value) && value <= most) return value;
  complain(c, name, text, wanted);
  return otherwise;
}

// "aclrtMalloc:3:207001[:count]", several separated by commas.
void read_faults(Config& c) {
  const char* text = std::getenv("SOFTNPU_FAIL");
  if (text == nullptr) return;
  std::istringstream rules(text);
  for (std::string rule; std::getline(rules, rule, ',');) {
    std::vector<std::string> parts;
    // A "task:" prefix belongs to the name.
    std::string prefix;
    if (rule.rfind("task:", 0) == 0) prefix = "task:", rule = rule.substr(5);
    std::istringstream fields(rule);
    for (std::string part; std::getline(fields, part, ':');) parts.push_back(part);
    uint64_t nth = 0, code = 0, count = 1;
    const bool good = (parts.size() == 3 || parts.size() == 4) && parse_number(parts[1], &nth) && nth > 0 &&
                      parse_number(parts[2], &code) && code > 0 &&
                      (parts.size() == 3 || parts[3] == "always" || parse_number(parts[3], &count));
    if (!good) {
      complain(c, "SOFTNPU_FAIL", text, "function:nth:code[:count or always], separated by commas");
      return;
    }
    const bool always = parts.size() == 4 && parts[3] == "always";
    softnpu_fail((prefix + parts[0]).c_str(), nth, int(code), always ? -1 : int64_t(count));
  }
}

Config* read_environment() {
  auto* c = new Config;
  c->devices = uint32_t(read_number(*c, "SOFTNPU_DEVICES", c->devices, kMaxDevices, "a number from 0 to 64"));
  c->delay_us =
      uint32_t(read_number(*c, "SOFTNPU_DELAY_US", 0, 1000000000, "microseconds, at most 1000000000"));
  c->poison = read_number(*c, "SOFTNPU_POISON", 0, 1, "0 or 1") == 1;
  if (const char* text = std::getenv("SOFTNPU_MEMORY"))
    if (!parse_size(text, &c->memory)) complain(*c, "SOFTNPU_MEMORY", text, "a size such as 2GiB or 512MiB");
  if (const char* text = std::getenv("SOFTNPU_SOC")) {
    if (const Soc* soc = find_soc(text)) c->soc = soc;
    else complain(*c, "SOFTNPU_SOC", text, soc_names());
  }
  if (const char* text = std::getenv("SOFTNPU_TRACE"))
    if (softnpu_trace(text) == 0)
      complain(*c, "SOFTNPU_TRACE", text, "the path of a file that can be written");
  if (const char* text = std::getenv("SOFTNPU_SANITIZE_LOG"))
    if (softnpu_sanitize_log(text) == 0)
      complain(*c, "SOFTNPU_SANITIZE_LOG", text, "the path of a file that can be written");
  if (const char* text = std::getenv("SOFTNPU_SANITIZE"))
    if (softnpu_sanitize(text) == 0)
      complain(*c, "SOFTNPU_SANITIZE", text, "1, 0, or a list of address, uninitialised and race");
  if (std::getenv("SOFTNPU_SCHEDULE") != nullptr)
    softnpu_schedule(read_number(*c, "SOFTNPU_SCHEDULE", 0, UINT64_MAX, "a number, the seed"), 1);
  read_faults(*c);
  return c;
}

}  // namespace

bool parse_size(const std::string& text, uint64_t* bytes) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  uint64_t value = 0;
  if (!parse_number(text.substr(0, digits), &value)) return false;
  const std::string unit = text.substr(digits);
  int shift = 0;
  if (unit == "KiB" || unit == "K") shift = 10;
  else if (unit == "MiB" || unit == "M") shift = 20;
  else if (unit == "GiB" || unit == "G") shift = 30;
  else if (!unit.empty() && unit != "B") return false;
  if (value == 0 || value > (uint64_t(1) << 42) >> shift) return false;  // at most 4 TiB
  *bytes = value << shift;
  return true;
}

Config& config() {
  static Config* instance = read_environment();
  return *instance;
}

}  // namespace softnpu
