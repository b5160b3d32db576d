#include "hccl/json.h"

#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace softnpu::hccl {
namespace {

constexpr int kDeepest = 64;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Json document() {
    Json result = value(0);
    skip_space();
    if (position_ != text_.size()) fail("something follows the document");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("not JSON: " + what + " at character " + std::to_string(position_));
  }

  void skip_space() {
    while (position_ < text_.size() && std::string_view(" \t\r\n").find(text_[position_]) != text_.npos)
      ++position_;
  }

  char peek() {
    skip_space();
    if (position_ == text_.size()) fail("it ends too early");
    return text_[position_];
  }

  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++position_;
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail(std::string("'") + wanted + "' was expected");
  }

  Json value(int depth) {
    if (depth > kDeepest) fail("it is nested too deeply");
    switch (peek()) {
      case '{': return object(depth);
      case '[': return array(depth);
      case '"': return {string()};
      default: return scalar();
    }
  }

  Json object(int depth) {
    Json::Object members;
    expect('{');
    if (take('}')) return {members};
    do {
      if (peek() != '"') fail("a name in quotes was expected");
      std::string key = string();
      expect(':');
      members.insert_or_assign(std::move(key), value(depth + 1));
    } while (take(','));
    expect('}');
    return {std::move(members)};
  }

  Json array(int depth) {
    Json::Array items;
    expect('[');
    if (take(']')) return {items};
    do items.push_back(value(depth + 1));
    while (take(','));
    expect(']');
    return {std::move(items)};
  }

  std::string string() {
    expect('"');
    std::string out;
    for (; position_ < text_.size() && text_[position_] != '"'; ++position_) {
      if (text_[position_] == '\\') out += escaped();
      else out += text_[position_];
    }
    if (position_ == text_.size()) fail("a string has no end");
    ++position_;
    return out;
  }

  // Leaves the position at the last character of the escape.
  std::string escaped() {
    if (++position_ == text_.size()) fail("a string has no end");
    static constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char c = text_[position_];
    if (const size_t index = kNames.find(c); index != kNames.npos) return {kMeanings[index]};
    const std::string digits(text_.substr(position_ + 1, 4));
    if (c != 'u' || digits.size() != 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos)
      fail("an escape is not one of JSON's");
    position_ += 4;
    const unsigned code = unsigned(std::strtoul(digits.c_str(), nullptr, 16));
    if (code < 0x80) return {char(code)};
    if (code < 0x800) return {char(0xC0 | code >> 6), char(0x80 | (code & 0x3F))};
    return {char(0xE0 | code >> 12), char(0x80 | (code >> 6 & 0x3F)), char(0x80 | (code & 0x3F))};
  }

  Json scalar() {
    const size_t end = std::min(text_.find_first_of(",]} \t\r\n", position_), text_.size());
    const std::string word(text_.substr(position_, end - position_));
    Json result;
    char* stop = nullptr;
    const double number = std::strtod(word.c_str(), &stop);
    if (word == "true" || word == "false") result.value = word == "true";
    else if (word == "null") result.value = nullptr;
    else if (!word.empty() && *stop == 0 && std::isfinite(number)) result.value = number;
    else fail("'" + word + "' is no value");
    position_ = end;
    return result;
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

const Json* Json::find(const std::string& key) const {
  const auto* members = std::get_if<Object>(&value);
  if (members == nullptr) return nullptr;
  const auto found = members->find(key);
  return found == members->end() ? nullptr : &found->second;
}

std::string Json::text() const {
  if (const auto* string = std::get_if<std::string>(&value)) return *string;
  if (const auto* number = std::get_if<double>(&value); number != nullptr && std::abs(*number) < 1e15)
    return std::to_string(static_cast<long long>(*number));
  return {};
}

Json parse_json(std::string_view text) { return Parser(text).document(); }

}  // namespace softnpu::hccl
