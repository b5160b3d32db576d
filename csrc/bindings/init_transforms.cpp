// vmap as Python drives it: levels, and tensors that go in and come out. The names are those of PyTorch's
// torch._C._functorch, which programs call too.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings/casters.h"
#include "core/intercept.h"
#include "generated/ops/view.h"
#include "transforms/batch.h"

namespace mt::bindings {

namespace nb = nanobind;

namespace {

int enter_vmap(int64_t size, const std::string& randomness) {
  const Randomness kind = randomness == "different" ? Randomness::different
                          : randomness == "same"    ? Randomness::same
                          : randomness == "unasked" ? Randomness::unasked
                                                    : Randomness::error;
  const int level = ++thread_state().transform_levels;
  push_mapped_level({level, size, kind});
  return level;
}

int leave_vmap() {
  const int level = pop_mapped_level().level;
  --thread_state().transform_levels;
  return level;
}

int batch_level(const Tensor& t) {
  const Transformed* state = transformed(t);
  return state && state->batch_level > 0 ? state->batch_level : -1;
}

// The dimension moved to the front, seen as a batch.
Tensor add_batch_dim(const Tensor& t, int64_t dim, int level) {
  return batch::wrapped(ops::movedim(t, dim, int64_t(0)), level);
}

Tensor remove_batch_dim(const Tensor& t, int level, int64_t size, int64_t dim) {
  if (batch::is_batched(t, level)) {
    const Tensor& value = batch::value_of(t, level);
    return ops::movedim(value, int64_t(0), dim);
  }
  const Tensor& value = batch::value_of(t, level);
  const int64_t at = wrap_dim(dim, value.dim() + 1);
  Dims sizes(value.sizes());
  sizes.insert(size_t(at), size);
  return ops::expand(ops::unsqueeze(value, at), sizes);
}

Tensor unwrapped(const Tensor& t) {
  MT_CHECK(batch_level(t) > 0, "No wrappers present!");
  return transformed(t)->value;
}

// Inside vmap, a tensor from outside gets a history of its own, so that what lies below records none.
Tensor at_this_level(const Tensor& t) {
  const MappedLevel* mapped = mapped_level();
  if (!mapped || batch::is_of(t, mapped->level)) return t;
  return batch::wrapped(t, mapped->level, true);
}

bool requires_grad_below(const Tensor& t) {
  if (batch_level(t) < 0) return false;
  const Tensor& value = transformed(t)->value;
  return value.requires_grad() || requires_grad_below(value);
}

nb::tuple mapped(int level) {
  const MappedLevel* found = mapped_level(level);
  MT_CHECK(found, "this thread is not inside the vmap of level ", level);
  constexpr const char* names[] = {"error", "different", "same", "unasked"};
  return nb::make_tuple(found->size, names[int(found->randomness)]);
}

// Dimension `from` folded into `into`, its entries before those of `into`; and back.
Tensor fold_into(int64_t from, int64_t into, const Tensor& t) {
  const int64_t source = wrap_dim(from, t.dim()), target = wrap_dim(into, t.dim() - 1);
  Dims sizes(t.sizes());
  const int64_t count = sizes[size_t(source)];
  sizes.erase(size_t(source));
  sizes[size_t(target)] *= count;
  return ops::movedim(t, source, target).reshape(sizes);
}
Tensor fold_out_of(int64_t from, int64_t size, const Tensor& t) {
  const int64_t source = wrap_dim(from, t.dim());
  Dims sizes(t.sizes());
  MT_CHECK(size > 0 && sizes[size_t(source)] % size == 0, "a dimension of ", sizes[size_t(source)],
           " cannot be split into ", size, " parts");
  sizes[size_t(source)] /= size;
  sizes.insert(size_t(source), size);
  return t.reshape(sizes);
}

nb::object current_level() {
  const int level = thread_state().transform_levels;
  return level > 0 ? nb::cast(level) : nb::none();
}

}  // namespace

void init_transforms(nb::module_& parent) {
  parent.def("_are_functorch_transforms_active", [] { return thread_state().transform_levels > 0; });
  nb::module_ m = parent.def_submodule("_functorch", "Levels of vmap, and tensors that stand for batches.");
  m.def("_vmap_increment_nesting", &enter_vmap, nb::arg("batch_size"), nb::arg("randomness"),
        "Begins a level; returns its number.");
  m.def("_vmap_decrement_nesting", &leave_vmap, "Ends the innermost level; returns its number.");
  m.def("_add_batch_dim", &add_batch_dim, nb::arg("tensor"), nb::arg("batch_dim"), nb::arg("level"));
  m.def("_remove_batch_dim", &remove_batch_dim, nb::arg("tensor"), nb::arg("level"), nb::arg("batch_size"),
        nb::arg("out_dim"));
  m.def("is_batchedtensor", [](const Tensor& t) { return batch_level(t) > 0; }, nb::arg("tensor"));
  m.def("get_unwrapped", &unwrapped, nb::arg("tensor"));
  m.def("maybe_get_level", &batch_level, nb::arg("tensor"), "-1: it stands for no batch.");
  m.def("maybe_get_bdim", [](const Tensor& t) { return stands_for_batch(t) ? 0 : -1; }, nb::arg("tensor"));
  m.def(
      "_unwrap_batched",
      [](const Tensor& t, int level) {
        const bool batched = batch::is_batched(t, level);
        return nb::make_tuple(batch::value_of(t, level), batched ? nb::object(nb::cast(0)) : nb::none());
      },
      nb::arg("tensor"), nb::arg("level"), "The tensor below, and where its batch dimension is.");
  m.def("is_functorch_wrapped_tensor", [](const Tensor& t) { return batch_level(t) > 0; }, nb::arg("tensor"));
  for (const char* kind : {"is_gradtrackingtensor", "is_functionaltensor", "is_legacy_batchedtensor"})
    m.def(kind, [](const Tensor&) { return false; }, nb::arg("tensor"));
  m.def("maybe_current_level", &current_level);
  m.def("current_level", [] {
    const int level = thread_state().transform_levels;
    MT_CHECK(level > 0, "no transformation is active on this thread");
    return level;
  });
  m.def("_set_vmap_fallback_enabled", [](bool on) { batch::g_fallback.allowed = on; }, nb::arg("enabled"));
  m.def(
      "_set_vmap_fallback_warning_enabled", [](bool on) { batch::g_fallback.warns = on; },
      nb::arg("enabled"));
  m.def("_is_vmap_fallback_enabled", [] { return batch::g_fallback.allowed.load(); });
  m.def(
      "_fallback_count", [] { return batch::g_fallback.count.load(); },
      "How many operators vmap has run slice by slice in this process.");
  m.def("reshape_dim_into", &fold_into, nb::arg("src"), nb::arg("dst"), nb::arg("tensor"));
  m.def("reshape_dim_outof", &fold_out_of, nb::arg("src"), nb::arg("size"), nb::arg("tensor"));
  m.def("_mapped", &mapped, nb::arg("level"),
        "The size of the batch of a level, and what random operators do.");
  m.def("_of_all_slices", &of_all_slices, nb::arg("tensor"),
        "The values of all slices at once, for checks that are about each of them.");
  m.def("_at_this_level", &at_this_level, nb::arg("tensor"),
        "Inside vmap: the tensor as one of this level, whose history is this level's.");
  m.def("_requires_grad_below", &requires_grad_below, nb::arg("tensor"),
        "Whether the batch that it stands for takes part in a graph of an outer level.");
}

}  // namespace mt::bindings
