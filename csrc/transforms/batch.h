// vmap: operators on tensors that stand for batches.
//
// Note [Batches]
// A tensor inside vmap has the shape of one slice and holds the batch, one level down, with the batch dimension first
// (Note [Transformations] in core/transform.h). An operator that is given one is handed over to `intercept`, which
// calls the operator's rule: the rule calls operators on the batches. What it gives is wrapped again. Gradients are
// recorded on both sides: those asked for inside on the slices, those asked for outside on the batches.
//
// A rule is a function over values (core/value.h). Most operators share one of four, which the row names (`batch:` in
// ops/README.md); the generator says what each argument is (BatchRule::roles). An operator without a rule runs once for
// each slice, and the results are stacked.
#pragma once

#include <atomic>

#include "core/mapped_levels.h"
#include "core/operators.h"
#include "core/transform.h"

namespace mt::batch {

struct Call;

}  // namespace mt::batch

namespace mt {

struct BatchRule {
  // The results, of batches; of every slice alike, if it says so in the call.
  Values (*apply)(batch::Call& call);
  // A letter for each argument: t tensor, l list of tensors, d dimension, D list of dimensions, A list of dimensions of
  // which none means all, s sizes, - anything else.
  const char* roles;
  int written = -1;  // the argument that is written and returned
};

}  // namespace mt

namespace mt::batch {

// The tensor as seen from inside vmap. `storage`: that of another such tensor whose memory it shares.
Tensor wrapped(const Tensor& value, int level, bool same_for_all = false,
               const StorageRef* storage = nullptr);
// Whether it belongs to this level, and with a batch dimension.
bool is_of(const Tensor& tensor, int level);
bool is_batched(const Tensor& tensor, int level);
// What lies below: the batch, the value that is the same for all, or the tensor itself.
const Tensor& value_of(const Tensor& tensor, int level);

// A call of an operator, as its rule sees it.
struct Call {
  const Operator& op;
  const BatchRule& rule;
  Values arguments;  // as they were given: tensors seen from inside
  int level;
  int64_t size;               // of the batch
  bool same_for_all = false;  // set by a rule whose results have no batch dimension

  const Tensor& given(size_t i) const { return Unboxed<const Tensor&>::from(arguments[i]); }
  bool batched(size_t i) const { return given(i).defined() && is_batched(given(i), level); }
  int64_t rank(size_t i) const { return given(i).dim(); }  // of a slice
  // The tensor below, as it is: with a batch dimension if `batched`.
  const Tensor& value(size_t i) const { return value_of(given(i), level); }
  // The batch; of a tensor without one, expanded.
  Tensor batch(size_t i) const { return batch_of(given(i)); }
  Tensor batch_of(const Tensor& tensor) const;
  char role(size_t i) const { return rule.roles[i]; }
  Values run(Values values) const { return op.call(values); }
};

// The batch dimension, then dimensions of size 1, so that a slice has this many dimensions.
Tensor with_rank(const Tensor& batch, int64_t rank);
// A dimension of a slice with `rank` dimensions as one of the batch.
int64_t below(int64_t dim, int64_t rank);
Dims below(IntList dims, int64_t rank);
Dims with_batch(int64_t size, IntList sizes);
// The first two dimensions as one, and back.
Tensor folded(const Tensor& batch);
Tensor unfolded(const Tensor& tensor, int64_t size);
// ---- rules that rows name ----

// Broadcasts: batches are aligned behind the batch dimension.
Values elementwise(Call& call);
// Works along dimensions, which are counted one further; sizes begin with the batch.
Values dims(Call& call);
// Takes any number of dimensions before those that it works on; sizes begin with the batch.
Values leading(Call& call);
// Its first dimension is a batch already, or as good as one: both are folded into one.
Values fold(Call& call);

// Once for each slice.
Values loop(const Operator& op, const Values& arguments, int level, int64_t size);
// The same, for a rule that knows only some arguments.
Values by_slices(Call& call);
// The number of operators that were run so, in this process, and whether they may be.
struct Fallback {
  std::atomic<int64_t> count{0};
  std::atomic<bool> allowed{true}, warns{true};
};
extern Fallback g_fallback;

[[noreturn]] void refuse_write(const Operator& op, const char* written, const char* other);

void register_rules();

}  // namespace mt::batch
