// Forward mode for Python: torch.autograd.forward_ad, torch.func.jvp, the jvp of a torch.autograd.Function.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/casters.h"
#include "core/intercept.h"
#include "transforms/forward.h"

namespace mt::bindings {

namespace nb = nanobind;

namespace {

void check_tangent(const Tensor& primal, const Tensor& tangent, int level) {
  MT_CHECK(
      !forward::tangent_of(primal, level).defined(),
      "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is "
      "not supported.");
  MT_CHECK(!forward::tangent_of(tangent, level).defined(),
           "Setting a forward grad that itself has a forward gradient at the same level0 is not supported.");
  MT_CHECK(
      std::ranges::equal(primal.sizes(), tangent.sizes()),
      "Trying to set a forward gradient that has a different size than that of the original Tensor, this "
      "is not supported. Tensor is of size ",
      to_string(primal.sizes()), " while the given forward gradient is of size ", to_string(tangent.sizes()),
      ".");
}

Tensor make_dual(const Tensor& primal, const Tensor& tangent, int level) {
  check_tangent(primal, tangent, level);
  return forward::make_dual(primal, tangent, level);
}

std::pair<Tensor, Tensor> unpack(const Tensor& tensor, int level) {
  return {forward::primal_of(tensor, level),
          forward_enabled() ? forward::tangent_of(tensor, level) : Tensor()};
}

std::vector<std::pair<int, Tensor>> tangents(const Tensor& tensor) {
  std::vector<std::pair<int, Tensor>> found;
  const Transformed* state = transformed(tensor);
  if (!state || !state->tangents || !forward_enabled()) return found;
  for (const Tangent& each : *state->tangents)
    if (each.level <= thread_state().highest_level) found.emplace_back(each.level, each.tensor);
  return found;
}

int highest_level(const std::vector<Tensor>& tensors) {
  int highest = 0;
  for (const Tensor& t : tensors)
    if (t.defined() && (special(t) & kDual))
      for (const auto& [level, tangent] : tangents(t)) highest = std::max(highest, level);
  return highest;
}

}  // namespace

void init_forward(nb::module_& parent) {
  nb::module_ m =
      parent.def_submodule("_forward", "Forward mode: Note [Forward mode] in csrc/transforms/forward.h.");
  g_forward_interceptor = &forward::forward_interceptor;
  m.def("enter_level", &forward::enter_level, "The number of a new level, above all others of the thread.");
  m.def("exit_level", &forward::exit_level, nb::arg("level"), "Ends the level, and the tangents of it.");
  m.def(
      "levels", [] { return thread_state().transform_levels; },
      "How many transformations the thread is inside of.");
  m.def("make_dual", &make_dual, nb::arg("primal"), nb::arg("tangent"), nb::arg("level"));
  m.def("unpack", &unpack, nb::arg("tensor"), nb::arg("level"),
        "The tensor without its tangent of the level, and the tangent or None.");
  m.def("tangents", &tangents, nb::arg("tensor"), "Levels and tangents, the highest last.");
  m.def("tangent", &forward::tangent_of, nb::arg("tensor"), nb::arg("level"), "None: zero.");
  m.def(
      "set_tangent",
      [](const Tensor& tensor, const Tensor& tangent, int level) {
        check_tangent(tensor, tangent, level);
        forward::set_tangent(tensor, tangent, level);
      },
      nb::arg("tensor"), nb::arg("tangent"), nb::arg("level"));
  m.def("write_tangent", &forward::write_tangent, nb::arg("tensor"), nb::arg("tangent"), nb::arg("level"),
        "The same after the tensor was written in place.");
  m.def("highest_level", &highest_level, nb::arg("tensors"),
        "At which one of the tensors is dual; 0: at none.");
  m.def(
      "set_highest", [](int level) { return std::exchange(thread_state().highest_level, level); },
      nb::arg("level"), "Levels above it are not looked at; returns what was so before.");
  parent.def("_is_fwd_grad_enabled", &forward_enabled);
  parent.def("_set_fwd_grad_enabled", &set_forward_enabled, nb::arg("enabled"),
             "Whether operators look at tangents; returns what was so before.");
}

}  // namespace mt::bindings
