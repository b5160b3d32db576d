#include "core/operators.h"

#include <unordered_map>

namespace mt {
namespace {

std::vector<Operator>& operators() {
  static std::vector<Operator> all;
  return all;
}

std::string key(std::string_view name, std::string_view overload) { return join_text(name, ".", overload); }

Operator* find(std::string_view name, std::string_view overload) {
  static const auto* by_name = [] {
    auto* index = new std::unordered_map<std::string, Operator*>;
    for (Operator& each : operators()) index->emplace(key(each.name, each.overload), &each);
    return index;
  }();
  const auto found = by_name->find(key(name, overload));
  return found == by_name->end() ? nullptr : found->second;
}

}  // namespace

void add_operators(std::span<const Operator> added) {
  operators().insert(operators().end(), added.begin(), added.end());
}

std::span<const Operator> all_operators() { return operators(); }

const Operator* find_operator(std::string_view name, std::string_view overload) {
  return find(name, overload);
}

void set_batch_rule(std::string_view name, std::string_view overload, const BatchRule& rule) {
  Operator* op = find(name, overload);
  MT_CHECK(op, "a rule for batches is for an operator that is not there: ", name, ".", overload);
  op->batch = &rule;
}

void set_forward_rule(std::string_view name, std::string_view overload, const ForwardRule& rule) {
  Operator* op = find(name, overload);
  MT_CHECK(op, "a rule for tangents is for an operator that is not there: ", name, ".", overload);
  op->forward = &rule;
}

}  // namespace mt
