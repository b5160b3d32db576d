// The objects of the old operator interface (acl_op.h): tensor descriptions, data buffers and attributes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "acl_abi.h"

// A shape and a type without data. What programs call the format and shape of storage is how the data lies on
// a card; the software NPU keeps data plain, and keeps those two only to answer questions.
struct aclTensorDesc {
  aclDataType type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  std::vector<int64_t> sizes;
  aclFormat storage_format = ACL_FORMAT_UNDEFINED;
  std::vector<int64_t> storage_sizes;
  std::string name;
  std::string dynamic_input;
  aclMemType placement = ACL_MEMTYPE_DEVICE;
  std::vector<std::pair<int64_t, int64_t>> size_ranges, value_ranges;
  bool is_constant = false;
  std::vector<unsigned char> constant;
};

// Where the data of a tensor is; does not own it.
struct aclDataBuffer {
  void* data = nullptr;
  size_t bytes = 0;
};

struct aclopAttr {
  using Value = std::variant<bool, int64_t, float, std::string, aclDataType, std::vector<uint8_t>,
                             std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
                             std::vector<aclDataType>, std::vector<std::vector<int64_t>>>;
  std::map<std::string, Value, std::less<>> values;
};
