// aclopAttr: the named attributes of an operator of the old interface.
#include "aclop/objects.h"
#include "runtime/error.h"
#include "runtime/export.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

int set(const char* function, aclopAttr* attributes, const char* name, aclopAttr::Value value) {
  if (attributes == nullptr || name == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, function, ": attr or attrName is NULL");
  attributes->values.insert_or_assign(name, std::move(value));
  return ACL_SUCCESS;
}

template <class Stored, class Given>
int set_list(const char* function, aclopAttr* attributes, const char* name, int count, const Given* values) {
  if (count < 0 || (count > 0 && values == nullptr))
    return fail(ACL_ERROR_INVALID_PARAM, function, ": ", count, " values at ", values,
                ", wanted none, or some at a valid address");
  if constexpr (std::is_same_v<Given, const char*>) {
    for (int i = 0; i < count; ++i)
      if (values[i] == nullptr) return fail(ACL_ERROR_INVALID_PARAM, function, ": value ", i, " is NULL");
  }
  return set(function, attributes, name, std::vector<Stored>(values, values + count));
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclopAttr* aclopCreateAttr(void) {
  SOFTNPU_ENTER_POINTER(aclopCreateAttr);
  return new aclopAttr;
}

SOFTNPU_EXPORT void aclopDestroyAttr(const aclopAttr* attr) {
  SOFTNPU_ENTER_AS(cleanup, , aclopDestroyAttr, attr);
  delete attr;
}

SOFTNPU_EXPORT aclError aclopSetAttrBool(aclopAttr* attr, const char* attrName, uint8_t attrValue) {
  SOFTNPU_ENTER(aclopSetAttrBool, attr, attrName, attrValue);
  return set("aclopSetAttrBool", attr, attrName, attrValue != 0);
}

SOFTNPU_EXPORT aclError aclopSetAttrInt(aclopAttr* attr, const char* attrName, int64_t attrValue) {
  SOFTNPU_ENTER(aclopSetAttrInt, attr, attrName, attrValue);
  return set("aclopSetAttrInt", attr, attrName, attrValue);
}

SOFTNPU_EXPORT aclError aclopSetAttrFloat(aclopAttr* attr, const char* attrName, float attrValue) {
  SOFTNPU_ENTER(aclopSetAttrFloat, attr, attrName, attrValue);
  return set("aclopSetAttrFloat", attr, attrName, attrValue);
}

SOFTNPU_EXPORT aclError aclopSetAttrDataType(aclopAttr* attr, const char* attrName, aclDataType attrValue) {
  SOFTNPU_ENTER(aclopSetAttrDataType, attr, attrName, attrValue);
  return set("aclopSetAttrDataType", attr, attrName, attrValue);
}

SOFTNPU_EXPORT aclError aclopSetAttrString(aclopAttr* attr, const char* attrName, const char* attrValue) {
  SOFTNPU_ENTER(aclopSetAttrString, attr, attrName, attrValue);
  if (attrValue == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclopSetAttrString: attrValue is NULL");
  return set("aclopSetAttrString", attr, attrName, std::string(attrValue));
}

#define SOFTNPU_SET_LIST(name, Given, Stored)                                                               \
  SOFTNPU_EXPORT aclError name(aclopAttr* attr, const char* attrName, int numValues, Given const* values) { \
    SOFTNPU_ENTER(name, attr, attrName, numValues);                                                         \
    return set_list<Stored>(#name, attr, attrName, numValues, values);                                      \
  }
SOFTNPU_SET_LIST(aclopSetAttrListBool, uint8_t, uint8_t)
SOFTNPU_SET_LIST(aclopSetAttrListInt, int64_t, int64_t)
SOFTNPU_SET_LIST(aclopSetAttrListFloat, float, float)
SOFTNPU_SET_LIST(aclopSetAttrListDataType, aclDataType, aclDataType)

SOFTNPU_EXPORT aclError aclopSetAttrListString(aclopAttr* attr, const char* attrName, int numValues,
                                               const char** values) {
  SOFTNPU_ENTER(aclopSetAttrListString, attr, attrName, numValues);
  return set_list<std::string>("aclopSetAttrListString", attr, attrName, numValues, values);
}

SOFTNPU_EXPORT aclError aclopSetAttrListListInt(aclopAttr* attr, const char* attrName, int numLists,
                                                const int* numValues, const int64_t* const* values) {
  SOFTNPU_ENTER(aclopSetAttrListListInt, attr, attrName, numLists);
  if (numLists < 0 || (numLists > 0 && (numValues == nullptr || values == nullptr)))
    return fail(ACL_ERROR_INVALID_PARAM, "aclopSetAttrListListInt: ", numLists, " lists at ", values,
                ", wanted none, or some at a valid address");
  std::vector<std::vector<int64_t>> lists;
  for (int i = 0; i < numLists; ++i) {
    if (numValues[i] < 0 || (numValues[i] > 0 && values[i] == nullptr))
      return fail(ACL_ERROR_INVALID_PARAM, "aclopSetAttrListListInt: list ", i, " has ", numValues[i],
                  " values at ", values[i]);
    lists.emplace_back(values[i], values[i] + numValues[i]);
  }
  return set("aclopSetAttrListListInt", attr, attrName, std::move(lists));
}
