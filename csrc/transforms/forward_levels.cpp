// Levels of forward mode, and the tangents that tensors have at them.
#include <algorithm>

#include "autograd/node.h"
#include "base/per_thread.h"
#include "core/intercept.h"
#include "core/views.h"
#include "generated/ops/binary.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "transforms/forward.h"

namespace mt::forward {
namespace {

// The tangents to take away when the level ends.
struct Level {
  int number;
  std::vector<std::weak_ptr<Tangents>> lists;
  size_t room = 64;  // when so many are there, those whose tensors are gone are left out

  void remember(const std::shared_ptr<Tangents>& list) {
    if (lists.size() >= room) {
      std::erase_if(lists, [](const auto& each) { return each.expired(); });
      room = std::max<size_t>(64, 2 * lists.size());
    }
    lists.push_back(list);
  }
};
constinit PerThread<std::vector<Level>> t_levels;

Level& level_numbered(int number) {
  for (Level& each : *t_levels)
    if (each.number == number) return each;
  fail(ErrorKind::runtime, "the level ", number, " of forward mode is not one of this thread's");
}

Transformed& state_of(const Tensor& tensor) {
  std::unique_ptr<Transformed>& state = autograd::leaf_state(tensor).transformed;
  if (!state) state = std::make_unique<Transformed>();
  return *state;
}

std::shared_ptr<Tangents>& list_of(const Tensor& tensor) {
  std::shared_ptr<Tangents>& list = state_of(tensor).tangents;
  if (!list) list = std::make_shared<Tangents>();
  return list;
}

Tangents::iterator place_of(Tangents& list, int level) {
  return std::ranges::find_if(list, [level](const Tangent& each) { return each.level >= level; });
}

bool same_layout(const Tensor& a, const Tensor& b) { return std::ranges::equal(a.strides(), b.strides()); }

Tensor laid_out_as(const Tensor& tangent, const Tensor& tensor) {
  if (same_layout(tangent, tensor)) return tangent;
  if (tensor.is_contiguous()) return ops::clone(tangent, MemoryFormat::contiguous);
  if (special(tangent) & kBatched) return tangent;
  const Tensor made =
      ops::empty_strided(tensor.sizes(), tensor.strides(), {tangent.dtype(), tangent.device()});
  ops::copy_(made, tangent, false);
  return made;
}

// The tangent that a view gets with a new one of its base: the same window.
Tensor window_in(const Tensor& base_tangent, const Tensor& view) {
  return ops::as_strided(base_tangent, view.sizes(), view.strides(),
                         view.offset() - view.impl()->base->offset + base_tangent.offset());
}

bool batched(const Tensor& tensor) { return special(tensor) & kBatched; }

// A zero of a shape; a batch of them where the tangent that will be written to a part of it is one.
Tensor zeros_for(const Tensor& base, const Tensor& tangent) {
  if (batched(tangent)) {
    const Tensor zero = ops::zeros_like(ops::sum(tangent, DimList(), false, std::nullopt), std::nullopt, {});
    return ops::clone(ops::expand(zero, base.sizes(), false), MemoryFormat::contiguous);
  }
  const Tensor made = ops::empty_strided(base.sizes(), base.strides(), {tangent.dtype(), tangent.device()});
  ops::zero_(made);
  return made;
}

bool share_memory(const Tensor& a, const Tensor& b) { return a.storage_ref() == b.storage_ref(); }

}  // namespace

int enter_level() {
  const int number = ++thread_state().transform_levels;
  t_levels->push_back({number, {}});
  return number;
}

void exit_level(int level) {
  ThreadState& state = thread_state();
  MT_CHECK(!t_levels->empty() && t_levels->back().number == level && state.transform_levels == level,
           "Trying to exit a forward AD level that was not the last one that was created. This is not "
           "supported.");
  const Level ended = std::move(t_levels->back());
  t_levels->pop_back();
  --state.transform_levels;
  for (const auto& each : ended.lists)
    if (const std::shared_ptr<Tangents> list = each.lock())
      std::erase_if(*list, [level](const Tangent& tangent) { return tangent.level == level; });
}

Tensor tangent_of(const Tensor& tensor, int level) {
  const Transformed* state = tensor.defined() ? transformed(tensor) : nullptr;
  if (!state || !state->tangents) return Tensor();
  const auto found = place_of(*state->tangents, level);
  return found != state->tangents->end() && found->level == level ? found->tensor : Tensor();
}

void set_tangent(const Tensor& tensor, const Tensor& tangent, int level) {
  const std::shared_ptr<Tangents>& list = list_of(tensor);
  const auto place = place_of(*list, level);
  if (place != list->end() && place->level == level) {
    place->tensor = tangent;
    return;
  }
  list->insert(place, {level, tangent});
  tensor.impl()->special |= kDual;
  level_numbered(level).remember(list);
}

void share_tangents(const Tensor& from, const Tensor& to) {
  const Transformed* state = transformed(from);
  if (!state || !state->tangents) return;
  for (const Tangent& each : *state->tangents) set_tangent(to, each.tensor, each.level);
}

Tensor tangent_to_view(const Tensor& tensor, int level) {
  const Tensor tangent = tangent_of(tensor, level);
  if (!tangent.defined()) return tangent;
  const Tensor made = laid_out_as(tangent, tensor);
  if (!made.same(tangent)) set_tangent(tensor, made, level);
  return made;
}

void write_tangent(const Tensor& written, const Tensor& tangent, int level) {
  const Tensor before = tangent_of(written, level);
  if (!tangent.defined()) {
    if (before.defined()) ops::zero_(before);
    return;
  }
  const bool becomes_batch = before.defined() && batched(tangent) && !batched(before);
  if (before.defined() && !becomes_batch) {
    // What changes the shape of a tensor changes that of its tangent.
    if (share_memory(before, tangent)) set_tangent(written, tangent, level);
    else ops::copy_(before, tangent, false);
    return;
  }
  if (!written.is_view()) return set_tangent(written, tangent, level);
  const Tensor base = Tensor::share(written.impl()->base);
  const Tensor whole = tangent_of(base, level);
  if (!whole.defined()) set_tangent(base, zeros_for(base, tangent), level);
  else if (becomes_batch) set_tangent(base, ops::add(whole, zeros_for(base, tangent)), level);
  const Tensor window = window_in(tangent_to_view(base, level), written);
  ops::copy_(window, tangent, false);
  set_tangent(written, window, level);
}

Tensor fitted(const Tensor& tangent, const Tensor& result) {
  Tensor made = tangent;
  if (is_complex(made.dtype()) && !is_complex(result.dtype())) made = ops::real(made);
  if (made.dtype() != result.dtype() || made.device() != result.device())
    made = ops::_to_copy(made, result.dtype(), result.device(), false, std::nullopt);
  // Written in place it would be written in more than one element at once.
  if (!std::ranges::equal(made.sizes(), result.sizes()))
    made = ops::clone(ops::expand(made, result.sizes(), false), MemoryFormat::contiguous);
  return made;
}

namespace {

// A tangent lies as its tensor does, so that a window on the one is a window on the other.
bool lies_like(const Tensor& tangent, const Tensor& tensor) {
  if (tensor.numel() == 0 || batched(tensor) || batched(tangent) || tensor.impl()->special ||
      tangent.impl()->special)
    return true;
  for (size_t i = 0; i < size_t(tensor.dim()); ++i)
    if (tensor.sizes()[i] > 1 && tensor.strides()[i] != tangent.strides()[i]) return false;
  return tangent.offset() == tensor.offset() &&
         tangent.storage().nbytes / tangent.itemsize() == tensor.storage().nbytes / tensor.itemsize();
}

Tensor laid_out_in_whole(const Tensor& tangent, const Tensor& tensor) {
  const int64_t room = int64_t(tensor.storage().nbytes / tensor.itemsize());
  const Tensor memory = ops::zeros(IntList(&room, 1), {tangent.dtype(), tangent.device()});
  const Tensor made = ops::as_strided(memory, tensor.sizes(), tensor.strides(), tensor.offset());
  return ops::copy_(made, tangent, false);
}

}  // namespace

Tensor make_dual(const Tensor& primal, const Tensor& tangent, int level) {
  MT_CHECK(is_differentiable(primal.dtype()),
           "Expected tensor to be floating point or complex, but got torch.", info(primal.dtype()).name);
  const LevelsBelow below(level);
  const Tensor dual = ops::alias(primal);
  set_tangent(dual, lies_like(tangent, primal) ? tangent : laid_out_in_whole(tangent, primal), level);
  return dual;
}

Tensor primal_of(const Tensor& dual, int level) {
  const LevelsBelow below(level);
  return ops::alias(dual);
}

}  // namespace mt::forward
