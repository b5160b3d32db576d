// Writing to elements that several indices, coordinates or positions name.
#include "kernels/index/indexed.h"
#include "op_plans.h"
#include "ops/index/index_list.h"

namespace softnpu::ops {

namespace k = mt::kernels;

void IndexPutImpl(Plan& plan, aclTensor* selfRef, const aclTensorList* indices, const aclTensor* values,
                  const bool accumulate, const bool) {
  const Operand to = plan.output(selfRef, "selfRef");
  const IndexList list(plan, to, indices);
  const Operand source = plan.input(values, "values");
  plan.require_dtype(to, "selfRef", domains::every);
  if (list.empty() || source.numel() == 0) return;
  list.require_source(plan, to, source, "values");
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs from(source.view(e), to.dtype, false);
    list.with(e, to.view(e), [&](const AdvancedIndex& found) {
      k::scatter(found.table(), found.lookup(), from.view(),
                 accumulate ? k::Combine::add : k::Combine::write);
    });
  });
}

namespace {

void write_coordinates(Plan& plan, const Operand& table, const aclTensor* indices, const aclTensor* updates,
                       std::optional<Operand> start) {
  const Operand at = plan.input(indices, "indices"), source = plan.input(updates, "updates");
  plan.require_dtype(at, "indices", kIndexDTypes);
  plan.require_dtype(table, "varRef", domains::every);
  plan.require_same_dtype(source, "updates", table, "varRef");
  require_coordinates(plan, table, "varRef", at, source, "updates");
  plan.run([=](const aclOpExecutor& e) {
    const View result = table.view(e);
    if (start) k::copy(start->view(e), result);
    if (source.numel() == 0) return;
    const ReadAs longs = as_long(at.view(e));
    const AdvancedIndex found(result, coordinates(longs.view()), true);
    k::scatter(found.table(), found.lookup(), source.view(e), k::Combine::write);
  });
}

// Indices of any shape name rows of the table; updates has the indices' shape, then a row's.
void combine_rows(Plan& plan, aclTensor* varRef, const aclTensor* indices, const aclTensor* updates,
                  k::Combine combine) {
  const Operand table = plan.output(varRef, "varRef"), at = plan.input(indices, "indices"),
                source = plan.input(updates, "updates");
  plan.require_dtype(at, "indices", kIndexDTypes);
  plan.require_dtype(table, "varRef",
                     combine == k::Combine::add || combine == k::Combine::multiply ? domains::every
                                                                                   : domains::every_ordered);
  plan.require_same_dtype(source, "updates", table, "varRef");
  if (table.ndim == 0) plan.invalid("tensor 'varRef' is a scalar, wanted rows");
  std::vector<int64_t> wanted(at.sizes, at.sizes + at.ndim);
  wanted.insert(wanted.end(), table.sizes + 1, table.sizes + table.ndim);
  plan.require_shape(source, "updates", wanted);
  if (source.numel() == 0) return;
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs longs = as_long(at.view(e));
    const AdvancedIndex found(table.view(e), {longs.view()}, true);
    k::scatter(found.table(), found.lookup(), source.view(e), combine);
  });
}

}  // namespace

void ScatterNd(Plan& plan, const aclTensor* data, const aclTensor* indices, const aclTensor* updates,
               aclTensor* out) {
  const Operand from = plan.input(data, "data"), to = plan.output(out, "out");
  plan.require_same_dtype(from, "data", to, "out");
  plan.require_same_shape(from, "data", to, "out");
  write_coordinates(plan, to, indices, updates, from);
}
void ScatterNdUpdate(Plan& plan, aclTensor* varRef, const aclTensor* indices, const aclTensor* updates) {
  write_coordinates(plan, plan.output(varRef, "varRef"), indices, updates, std::nullopt);
}

void TfScatterAdd(Plan& plan, aclTensor* varRef, const aclTensor* indices, const aclTensor* updates) {
  combine_rows(plan, varRef, indices, updates, k::Combine::add);
}
void ScatterMul(Plan& plan, aclTensor* varRef, const aclTensor* indices, const aclTensor* updates, bool) {
  combine_rows(plan, varRef, indices, updates, k::Combine::multiply);
}
void ScatterMax(Plan& plan, aclTensor* varRef, const aclTensor* indices, const aclTensor* updates, bool) {
  combine_rows(plan, varRef, indices, updates, k::Combine::max);
}
void ScatterMin(Plan& plan, aclTensor* varRef, const aclTensor* indices, const aclTensor* updates, bool) {
  combine_rows(plan, varRef, indices, updates, k::Combine::min);
}

void InplacePut(Plan& plan, aclTensor* selfRef, const aclTensor* index, const aclTensor* source,
                bool accumulate) {
  const Operand to = plan.output(selfRef, "selfRef"), at = plan.input(index, "index"),
                from = plan.input(source, "source");
  plan.require_dtype(at, "index", kIndexDTypes);
  plan.require_dtype(to, "selfRef", domains::every);
  plan.require_same_dtype(from, "source", to, "selfRef");
  if (from.numel() != at.numel())
    plan.invalid("tensor 'source' of shape ", shape_text(from), " and 'index' of shape ", shape_text(at),
                 " must have the same number of elements");
  plan.run([=](const aclOpExecutor& e) {
    const View target = to.view(e);
    const ReadAs old = dense_input(target), longs(at.view(e), DType::int64),
                 values = dense_input(from.view(e));
    const int64_t count = at.numel(), one = 1;
    const View flat_index{longs.view().data, &count, &one, 1, DType::int64};
    const View flat_values{values.view().data, &count, &one, 1, to.dtype};
    const FlatLookup flat(old.view(), flat_index);
    k::scatter(flat.table, flat.lookup, flat_values, accumulate ? k::Combine::add : k::Combine::write);
    if (old.view().data != target.data) k::copy(old.view(), target);
  });
}

// Batch b of `updates` replaces as many entries of `data` along `axis`, from position indices[b] on. With two columns the
// first names the batch.
void InplaceScatterUpdate(Plan& plan, aclTensor* data, const aclTensor* indices, const aclTensor* updates,
                          int64_t axis) {
  const Operand to = plan.output(data, "data"), at = plan.input(indices, "indices"),
                from = plan.input(updates, "updates");
  plan.require_dtype(at, "indices", kIndexDTypes);
  plan.require_same_dtype(from, "updates", to, "data");
  const int along = plan.dim(axis, to);
  bool fits = to.ndim >= 2 && from.ndim == to.ndim && along > 0 && from.sizes[along] <= to.sizes[along] &&
              (at.ndim == 1 || (at.ndim == 2 && at.sizes[1] == 2)) && at.sizes[0] == from.sizes[0];
  for (int i = 1; fits && i < to.ndim; ++i) fits = i == along || from.sizes[i] == to.sizes[i];
  if (fits && at.ndim == 1) fits = from.sizes[0] <= to.sizes[0];
  if (!fits)
    plan.invalid("data of shape ", shape_text(to), ", indices ", shape_text(at), ", updates ",
                 shape_text(from), " and axis ", axis, " do not belong together");
  if (from.numel() == 0) return;
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs longs(at.view(e), DType::int64);
    const int64_t* index = longs.view().as<int64_t>();
    const int64_t length = from.sizes[along];
    for (int64_t b = 0; b < from.sizes[0]; ++b) {
      const int64_t batch = at.ndim == 2 ? index[2 * b] : b,
                    start = at.ndim == 2 ? index[2 * b + 1] : index[b];
      MT_CHECK(batch >= 0 && batch < to.sizes[0] && start >= 0 && start <= to.sizes[along] - length,
               "position ", start, " of batch ", batch, " with ", length,
               " entries is outside data of shape ", shape_text(to));
      const Operand place = sliced(sliced(to, 0, batch, 1), along, start, length),
                    part = sliced(from, 0, b, 1);
      k::copy(part.view(e), place.view(e));
    }
  });
}

// Tensor b of the list gets batch b of the updates, from position indice[b] on along `axis`; with two columns the second is
// how many entries. A mask leaves out tensors.
void ScatterList(Plan& plan, aclTensorList* varRef, const aclTensor* indice, const aclTensor* updates,
                 const aclTensor* maskOptional, char* reduceOptional, int64_t axis) {
  const std::vector<Operand> targets = plan.outputs(varRef, "varRef");
  const Operand at = plan.input(indice, "indice"), from = plan.input(updates, "updates");
  const std::optional<Operand> chosen = plan.optional_input(maskOptional, "maskOptional");
  if (reduceOptional != nullptr && std::string_view(reduceOptional) != "update")
    plan.invalid("reduce is '", reduceOptional, "', wanted 'update'");
  plan.require_dtype(at, "indice", kIndexDTypes);
  const int64_t count = int64_t(targets.size());
  const bool pairs = at.ndim == 2 && at.sizes[1] == 2;
  if ((at.ndim != 1 && !pairs) || at.sizes[0] != count || from.ndim == 0 || from.sizes[0] != count)
    plan.invalid("there are ", count, " tensors, indice of shape ", shape_text(at), " and updates of ",
                 shape_text(from));
  if (chosen) {
    plan.require_dtype(*chosen, "maskOptional", k::dtype_set(DType::uint8, DType::boolean));
    plan.require_shape(*chosen, "maskOptional", {count});
  }
  const Operand each = without_dim(sliced(from, 0, 0, 1), 0);
  const int along = plan.dim(axis, each);
  for (const Operand& target : targets) {
    plan.require_same_dtype(target, "varRef", from, "updates");
    require_inside(plan, each, "updates", target, "varRef", -1);
    for (int i = 0; i < each.ndim; ++i)
      if (i != along && each.sizes[i] != target.sizes[i])
        plan.invalid("updates of shape ", shape_text(each), " do not fit a tensor of shape ",
                     shape_text(target));
  }
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs longs(at.view(e), DType::int64);
    std::optional<ReadAs> mask;
    if (chosen) mask.emplace(chosen->view(e), DType::uint8);
    for (int64_t b = 0; b < count; ++b) {
      if (mask && mask->view().as<uint8_t>()[b] == 0) continue;
      const int64_t* index = longs.view().as<int64_t>() + (pairs ? 2 * b : b);
      const Operand& target = targets[size_t(b)];
      const int64_t length = pairs ? index[1] : each.sizes[along];
      MT_CHECK(index[0] >= 0 && length >= 0 && length <= each.sizes[along] &&
                   index[0] <= target.sizes[along] - length,
               length, " entries at ", index[0], " do not fit a tensor of shape ", shape_text(target));
      const Operand part = sliced(without_dim(sliced(from, 0, b, 1), 0), along, 0, length),
                    place = sliced(target, along, index[0], length);
      k::copy(part.view(e), place.view(e));
    }
  });
}

}  // namespace softnpu::ops
