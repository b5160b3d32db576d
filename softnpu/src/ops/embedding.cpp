// Lookups in tables, their gradients, and bags of rows.
#include "kernels/embedding/embedding.h"

#include "kernels/index/indexed.h"
#include "kernels/reduce/renorm.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

constexpr DTypeSet kIndices = k::dtype_set(DType::int32, DType::int64, DType::uint32);

[[noreturn]] void refuse_row(int64_t row, const k::Lookup& lookup) {
  mt::fail(mt::ErrorKind::index, "index ", row, " is out of range for a table of ", lookup.size, " rows");
}

void require_table(const Plan& plan, const Operand& table, const char* name) {
  plan.require_ndim(table, name, 2);
}

}  // namespace

void Embedding(Plan& plan, const aclTensor* weight, const aclTensor* indices, const aclTensor* out) {
  const Operand table = plan.input(weight, "weight"), named = plan.input(indices, "indices"),
                to = plan.output(out, "out");
  require_table(plan, table, "weight");
  plan.require_dtype(named, "indices", kIndices);
  plan.require_same_dtype(table, "weight", to, "out");
  std::vector<int64_t> wanted = sizes_of(named);
  wanted.push_back(table.sizes[1]);
  plan.require_shape(to, "out", wanted);
  plan.run([=](const aclOpExecutor& e) {
    const k::Dense rows(named.view(e), DType::int64, k::Access::read);
    // Index and table in the shape of the result: the index does not move along a row, the table only there.
    Operand index = to, source = to;
    std::copy_n(rows.view().strides, named.ndim, index.strides);
    index.strides[to.ndim - 1] = 0;
    std::fill_n(source.strides, to.ndim - 1, 0);
    source.strides[to.ndim - 1] = table.strides[1];
    const View from = table.view(e);
    const int64_t row = table.strides[0] * int64_t(mt::itemsize(table.dtype));
    k::gather(to.view(e), {from.data, source.sizes, source.strides, to.ndim, table.dtype},
              {{rows.view().data, index.sizes, index.strides, to.ndim, DType::int64},
               table.sizes[0],
               row,
               false,
               0,
               refuse_row});
  });
}

namespace {

void embedding_backward(Plan& plan, const aclTensor* gradient, const aclTensor* indices, int64_t count,
                        int64_t padding, bool by_frequency, const aclTensor* out) {
  const Operand grad = plan.input(gradient, "grad"), named = plan.input(indices, "indices"),
                to = plan.output(out, "out");
  require_table(plan, to, "out");
  plan.require_dtype(grad, "grad", domains::floating);
  plan.require_dtype(to, "out", domains::floating);
  plan.require_dtype(named, "indices", kIndices);
  if (to.sizes[0] != count || grad.numel() != named.numel() * to.sizes[1])
    plan.invalid("tensor 'out' has shape ", shape_text(to), ", wanted ", count, " rows, and 'grad' of shape ",
                 shape_text(grad), " a row for each of ", named.numel(), " indices");
  plan.run([=](const aclOpExecutor& e) {
    k::embedding_backward(grad.view(e), named.view(e), padding, by_frequency, to.view(e));
  });
}

}  // namespace

// A padding of -1 arrives as the largest number.
void EmbeddingDenseBackward(Plan& plan, const aclTensor* grad, const aclTensor* indices, uint64_t numWeights,
                            uint64_t paddingIdx, bool scaleGradByFreq, const aclTensor* out) {
  embedding_backward(plan, grad, indices, int64_t(numWeights), int64_t(paddingIdx), scaleGradByFreq, out);
}
void EmbeddingDenseGrad(Plan& plan, const aclTensor* grad, const aclTensor* indices, int64_t numWeights,
                        int64_t paddingIdx, bool scaleGradByFreq, const aclTensor* y) {
  embedding_backward(plan, grad, indices, numWeights, paddingIdx, scaleGradByFreq, y);
}

void EmbeddingRenorm(Plan& plan, aclTensor* selfRef, const aclTensor* indices, double maxNorm,
                     double normType) {
  const Operand table = plan.output(selfRef, "selfRef"), named = plan.input(indices, "indices");
  require_table(plan, table, "selfRef");
  plan.require_dtype(table, "selfRef", domains::floating);
  plan.require_dtype(named, "indices", kIndices);
  if (!(maxNorm >= 0)) plan.invalid("maxNorm is ", maxNorm, ", wanted at least 0");
  plan.run([=](const aclOpExecutor& e) { k::renorm_rows(table.view(e), named.view(e), normType, maxNorm); });
}

void EmbeddingBag(Plan& plan, const aclTensor* weight, const aclTensor* indices, const aclTensor* offsets,
                  bool, int64_t mode, bool, const aclTensor* perSampleWeights, bool includeLastOffset,
                  int64_t paddingIdx, aclTensor* output, aclTensor* offset2bag, aclTensor* bagSize,
                  aclTensor* maxIndices) {
  const Operand table = plan.input(weight, "weight"), named = plan.input(indices, "indices"),
                starts = plan.input(offsets, "offsets");
  const std::optional<Operand> weights = plan.optional_input(perSampleWeights, "perSampleWeights");
  const Operand to = plan.output(output, "output");
  const std::optional<Operand> owners = unless_empty(optional_output(plan, offset2bag, "offset2bag")),
                               sizes = unless_empty(optional_output(plan, bagSize, "bagSize")),
                               places = unless_empty(optional_output(plan, maxIndices, "maxIndices"));
  require_table(plan, table, "weight");
  plan.require_dtype(table, "weight", domains::floating);
  plan.require_same_dtype(table, "weight", to, "output");
  plan.require_dtype(named, "indices", kIndices);
  plan.require_dtype(starts, "offsets", kIndices);
  plan.require_ndim(named, "indices", 1);
  plan.require_ndim(starts, "offsets", 1);
  if (mode < 0 || mode > 2) plan.invalid("mode is ", mode, ", wanted 0 (sum), 1 (mean) or 2 (max)");
  if (weights && mode != 0) plan.invalid("perSampleWeights are for mode 0 (sum), got mode ", mode);
  if (weights) plan.require_same_shape(*weights, "perSampleWeights", named, "indices");
  const int64_t bags = starts.sizes[0] - (includeLastOffset ? 1 : 0);
  plan.require_shape(to, "output", {bags, table.sizes[1]});
  if (owners && owners->numel() != named.numel())
    plan.invalid("tensor 'offset2bag' has shape ", shape_text(*owners), ", wanted ", named.numel(),
                 " elements");
  if (sizes && sizes->numel() < bags)
    plan.invalid("tensor 'bagSize' has shape ", shape_text(*sizes), ", wanted ", bags, " elements");
  if (places && mode == 2) plan.require_shape(*places, "maxIndices", {bags, table.sizes[1]});
  plan.run([=](const aclOpExecutor& e) {
    const std::optional<Operand> found = mode == 2 ? places : std::nullopt;
    const OptionalView factors(weights, e), to_owners(owners, e), to_places(found, e);
    std::optional<Operand> counted = sizes;
    if (counted) counted->sizes[0] = bags;
    const OptionalView to_sizes(counted, e);
    k::embedding_bag(table.view(e), named.view(e), starts.view(e),
                     {k::BagMode(mode), paddingIdx, factors.get()}, to.view(e), to_owners.get(),
                     to_sizes.get(), to_places.get());
    if (places && mode != 2) k::fill(places->view(e), 0);
  });
}

void OneHot(Plan& plan, const aclTensor* self, int numClasses, const aclTensor* onValue,
            const aclTensor* offValue, int64_t axis, aclTensor* out) {
  const Operand classes = plan.input(self, "self"), on = plan.input(onValue, "onValue"),
                off = plan.input(offValue, "offValue"), to = plan.output(out, "out");
  plan.require_dtype(classes, "self", kIndices | k::dtype_set(DType::uint8));
  for (const auto& [operand, name] : {std::pair{&on, "onValue"}, std::pair{&off, "offValue"}})
    if (operand->numel() != 1)
      plan.invalid("tensor '", name, "' has shape ", shape_text(*operand), ", wanted one element");
  if (axis < -1 || axis > classes.ndim) plan.invalid("axis is ", axis, ", wanted -1 to ", classes.ndim);
  const int along = axis == -1 ? classes.ndim : int(axis);
  std::vector<int64_t> wanted = sizes_of(classes);
  wanted.insert(wanted.begin() + along, int64_t(numClasses));
  plan.require_shape(to, "out", wanted);
  plan.run([=](const aclOpExecutor& e) {
    Operand on_element = on, off_element = off;
    on_element.ndim = off_element.ndim = 0;
    k::copy(off_element.view(e), to.view(e));
    const k::Dense named(classes.view(e), DType::int64, k::Access::read);
    // The classes side by side, each with the element it names; a class outside names nothing.
    const int64_t count = classes.numel(), item = int64_t(mt::itemsize(to.dtype));
    char* first = to.view(e).as<char>();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = named.view().as<int64_t>()[i];
      if (row < 0 || row >= numClasses) continue;
      int64_t at = row * to.strides[along], rest = i;
      for (int d = classes.ndim - 1; d >= 0; --d) {
        at += rest % classes.sizes[d] * to.strides[d < along ? d : d + 1];
        rest /= classes.sizes[d];
      }
      k::copy(on_element.view(e), {first + at * item, nullptr, nullptr, 0, to.dtype});
    }
  });
}

}  // namespace softnpu::ops
