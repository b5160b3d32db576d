#include "core/operators.h"

#include <unordered_map>

namespace mt {
namespace {

std::vector<Operator>& operators() {
  static std::vector<Operator> all;
  return all;
}

std::string key(std::string_view name, std::string_view overload) { return join_text(name, ".", overload); }

}  // namespace

void add_operators(std::span<const Operator> added) {
  operators().insert(operators().end(), added.begin(), added.end());
}

std::span<const Operator> all_operators() { return operators(); }

const Operator* find_operator(std::string_view name, std::string_view overload) {
  static const auto* by_name = [] {
    auto* index = new std::unordered_map<std::string, const Operator*>;
    for (const Operator& each : operators()) index->emplace(key(each.name, each.overload), &each);
    return index;
  }();
  const auto found = by_name->find(key(name, overload));
  return found == by_name->end() ? nullptr : found->second;
}

}  // namespace mt
