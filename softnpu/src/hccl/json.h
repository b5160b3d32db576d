// A reader of JSON, for rank tables.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace softnpu::hccl {

struct Json {
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json>;
  std::variant<std::nullptr_t, bool, double, std::string, Array, Object> value = nullptr;

  // The member of an object; nullptr when this is no object or has none of that name.
  const Json* find(const std::string& key) const;
  const Array* array() const { return std::get_if<Array>(&value); }
  // A string, or a number as it is written in rank tables ("3" or 3); empty for anything else.
  std::string text() const;
};

// A std::runtime_error that says what is wrong and at which character.
Json parse_json(std::string_view text);

}  // namespace softnpu::hccl
