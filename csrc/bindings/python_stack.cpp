#include "bindings/python_stack.h"

#include <map>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace mt::bindings {
namespace {

constexpr size_t kDeepest = 128;  // frames kept, from the innermost

// Code objects are kept for ever, so that their addresses stay theirs.
using Frame = std::pair<PyCodeObject*, int>;  // and the offset of the instruction
using Stack = std::vector<Frame>;

// Guarded by the GIL.
struct Table {
  std::map<Stack, uint32_t> ids;
  std::vector<const Stack*> stacks;
};
Table& table() {
  static auto* table = new Table;
  return *table;
}

Stack current_stack() {
  Stack stack;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame && stack.size() < kDeepest) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    stack.emplace_back(code, PyFrame_GetLasti(frame));
    Py_DECREF(code);  // the frame has it
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return stack;
}

}  // namespace

uint32_t python_stack_id() noexcept {
  if (!PyGILState_Check()) return 0;
  Stack stack = current_stack();
  if (stack.empty()) return 0;
  Table& known = table();
  const auto [found, added] = known.ids.try_emplace(std::move(stack), uint32_t(known.stacks.size() + 1));
  if (added) {
    for (const auto& [code, offset] : found->first) Py_INCREF(code);
    known.stacks.push_back(&found->first);
  }
  return found->second;
}

nb::list python_stack(uint32_t id) {
  nb::list result;
  if (id == 0 || id > table().stacks.size()) return result;
  for (const auto& [code, offset] : *table().stacks[id - 1])
    result.append(nb::make_tuple(nb::borrow(code->co_filename), PyCode_Addr2Line(code, offset),
                                 nb::borrow(code->co_qualname)));
  return result;
}

}  // namespace mt::bindings
