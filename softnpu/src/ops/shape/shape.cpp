// Tensors put together, taken apart, turned and repeated: copies between views.
#include "kernels/common/copy.h"
#include "op_plans.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

void copy_between(Plan& plan, const Operand& from, const Operand& to) {
  plan.run([=](const aclOpExecutor& e) { k::copy(from.view(e), to.view(e)); });
}

void copy_pairs(Plan& plan, std::vector<std::pair<Operand, Operand>> pairs) {
  plan.run([pairs = std::move(pairs)](const aclOpExecutor& e) {
    for (const auto& [from, to] : pairs) k::copy(from.view(e), to.view(e));
  });
}

// Each of `parts` takes as much of `whole` along a dimension as it is long.
void split(Plan& plan, const Operand& whole, int along, const std::vector<Operand>& parts) {
  std::vector<std::pair<Operand, Operand>> pairs;
  int64_t position = 0;
  for (const Operand& part : parts) {
    bool fits = part.ndim == whole.ndim && part.sizes[along] <= whole.sizes[along] - position;
    for (int i = 0; fits && i < whole.ndim; ++i) fits = i == along || part.sizes[i] == whole.sizes[i];
    if (!fits)
      plan.invalid("a part of shape ", shape_text(part), " at ", position, " does not fit into ",
                   shape_text(whole), " along dim ", along);
    plan.require_same_dtype(part, "out", whole, "self");
    pairs.emplace_back(sliced(whole, along, position, part.sizes[along]), part);
    position += part.sizes[along];
  }
  if (position != whole.sizes[along])
    plan.invalid("the parts have ", position, " entries along dim ", along, " but 'self' has ",
                 whole.sizes[along]);
  copy_pairs(plan, std::move(pairs));
}

Operand permuted(const Plan& plan, const Operand& in, const std::vector<int64_t>& dims) {
  Operand result = in;
  std::vector<bool> used(size_t(in.ndim), false);
  bool fits = int64_t(dims.size()) == in.ndim;
  for (int i = 0; fits && i < in.ndim; ++i) {
    const int from = plan.dim(dims[size_t(i)], in);
    fits = !used[size_t(from)];
    used[size_t(from)] = true;
    result.sizes[i] = in.sizes[from], result.strides[i] = in.strides[from];
  }
  if (!fits) plan.invalid("the dimensions are no permutation of those of shape ", shape_text(in));
  return result;
}

}  // namespace

void Cat(Plan& plan, const aclTensorList* tensors, int64_t dim, aclTensor* out) {
  std::vector<Operand> parts = plan.inputs(tensors, "tensors");
  const Operand to = plan.output(out, "out");
  const int along = plan.dim(dim, to);
  // Legacy: an empty tensor of one dimension joins anything.
  std::erase_if(parts, [](const Operand& part) { return part.ndim == 1 && part.sizes[0] == 0; });
  std::vector<Operand> places;
  int64_t position = 0;
  for (const Operand& part : parts) {
    bool fits = part.ndim == to.ndim && to.ndim > 0;
    for (int i = 0; fits && i < to.ndim; ++i) fits = i == along || part.sizes[i] == to.sizes[i];
    if (!fits)
      plan.invalid("a tensor of shape ", shape_text(part), " does not fit a result of shape ", shape_text(to),
                   " along dim ", along);
    Operand place = to;
    place.sizes[along] = part.sizes[along];
    place.offset += position * to.strides[along] * int64_t(mt::itemsize(to.dtype));
    position += part.sizes[along];
    places.push_back(place);
  }
  if (!parts.empty() && position != to.sizes[along])
    plan.invalid("the tensors have ", position, " entries along dim ", along, " but 'out' has ",
                 to.sizes[along]);
  plan.run([parts = std::move(parts), places = std::move(places)](const aclOpExecutor& e) {
    for (size_t i = 0; i < parts.size(); ++i) k::copy(parts[i].view(e), places[i].view(e));
  });
}

void Stack(Plan& plan, const aclTensorList* tensors, int64_t dim, aclTensor* out) {
  const std::vector<Operand> parts = plan.inputs(tensors, "tensors");
  const Operand to = plan.output(out, "out");
  const int along = plan.dim(dim, to);
  if (to.ndim == 0 || to.sizes[along] != int64_t(parts.size()))
    plan.invalid(parts.size(), " tensors do not stack to shape ", shape_text(to), " along dim ", dim);
  std::vector<std::pair<Operand, Operand>> pairs;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Operand place = without_dim(sliced(to, along, int64_t(i), 1), along);
    plan.require_same_shape(parts[i], "tensors", place, "a slice of out");
    pairs.emplace_back(parts[i], place);
  }
  copy_pairs(plan, std::move(pairs));
}

void SplitTensor(Plan& plan, const aclTensor* self, uint64_t splitSections, int64_t dim, aclTensorList* out) {
  const Operand in = at_least_1d(plan.input(self, "self"));
  const std::vector<Operand> parts = plan.outputs(out, "out");
  const int along = plan.dim(dim, in);
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    if (parts[i].ndim != in.ndim || (!last && uint64_t(parts[i].sizes[along]) != splitSections) ||
        uint64_t(parts[i].sizes[along]) > splitSections)
      plan.invalid("part ", i, " has shape ", shape_text(parts[i]), ", wanted ", splitSections, " along dim ",
                   along);
  }
  split(plan, in, along, parts);
}
void SplitWithSize(Plan& plan, const aclTensor* self, const aclIntArray* splitSize, int64_t dim,
                   aclTensorList* out) {
  const Operand in = at_least_1d(plan.input(self, "self"));
  const std::vector<Operand> parts = plan.outputs(out, "out");
  const std::vector<int64_t> sizes = plan.integers(splitSize, "splitSize");
  const int along = plan.dim(dim, in);
  bool fits = sizes.size() == parts.size();
  for (size_t i = 0; fits && i < parts.size(); ++i)
    fits = parts[i].ndim == in.ndim && parts[i].sizes[along] == sizes[i];
  if (!fits) plan.invalid("the results do not have the sizes of splitSize along dim ", along);
  split(plan, in, along, parts);
}

// Every tensor is cut into equally many chunks along `dim` (the last may be short: zeros fill it up); chunk i of all of
// them, flattened from `dim` on, make row i of the result.
void ChunkCat(Plan& plan, const aclTensorList* tensors, int64_t dim, int64_t numChunks, aclTensor* out) {
  const std::vector<Operand> parts = plan.inputs(tensors, "tensors");
  const Operand to = plan.output(out, "out");
  if (parts.empty()) plan.invalid("there are no tensors");
  if (numChunks < 1) plan.invalid("numChunks is ", numChunks, ", wanted at least 1");
  const int along = plan.dim(dim, parts[0]), last = along + 1;
  if (to.ndim != along + 2 || to.sizes[along] != numChunks)
    plan.invalid("tensor 'out' has shape ", shape_text(to), ", wanted ", along + 2, " dimensions with ",
                 numChunks, " chunks");
  std::vector<std::pair<Operand, Operand>> pairs;
  int64_t position = 0;
  for (const Operand& part : parts) {
    bool fits = part.ndim > along && part.ndim <= kMaxDims;
    for (int i = 0; fits && i < along; ++i) fits = part.sizes[i] == to.sizes[i];
    if (!fits)
      plan.invalid("a tensor of shape ", shape_text(part), " does not fit a result of ", shape_text(to));
    const int64_t length = (part.sizes[along] + numChunks - 1) / numChunks;
    int64_t rest = 1;
    for (int i = along + 1; i < part.ndim; ++i) rest *= part.sizes[i];
    if (length * rest > to.sizes[last] - position)
      plan.invalid("tensor 'out' of shape ", shape_text(to), " is too small");
    for (int64_t c = 0; c * length < part.sizes[along]; ++c) {
      const int64_t count = std::min(length, part.sizes[along] - c * length);
      const Operand row = sliced(without_dim(sliced(to, along, c, 1), along), along, position, count * rest);
      Operand place = row;  // the row in the shape of the chunk
      place.ndim = part.ndim;
      int64_t stride = row.strides[along];
      for (int i = part.ndim - 1; i >= along; --i) {
        place.sizes[i] = i == along ? count : part.sizes[i];
        place.strides[i] = stride;
        stride *= place.sizes[i];
      }
      pairs.emplace_back(sliced(part, along, c * length, count), place);
    }
    position += length * rest;
  }
  if (position != to.sizes[last])
    plan.invalid("the rows have ", position, " entries but 'out' has shape ", shape_text(to));
  plan.run([to, pairs = std::move(pairs)](const aclOpExecutor& e) {
    k::fill(to.view(e), 0);
    for (const auto& [from, place] : pairs) k::copy(from.view(e), place.view(e));
  });
}

void Permute(Plan& plan, const aclTensor* self, const aclIntArray* dims, aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  const Operand from = permuted(plan, in, plan.integers(dims, "dims"));
  plan.require_same_shape(from, "self, permuted,", to, "out");
  copy_between(plan, from, to);
}

// Permutes and reshapes, in the order that transpose_first says.
void ConfusionTranspose(Plan& plan, const aclTensor* x, const aclIntArray* perm, const aclIntArray* shape,
                        bool transpose_first, aclTensor* out) {
  const Operand in = plan.input(x, "x"), to = plan.output(out, "out");
  const std::vector<int64_t> dims = plan.integers(perm, "perm"), sizes = plan.integers(shape, "shape");
  plan.require_same_dtype(in, "x", to, "out");
  Operand reshaped = in;
  if (sizes.size() > kMaxDims) plan.invalid("shape has ", sizes.size(), " dimensions");
  reshaped.ndim = int16_t(sizes.size());
  std::copy(sizes.begin(), sizes.end(), reshaped.sizes);
  set_contiguous(reshaped);
  if (reshaped.numel() != in.numel())
    plan.invalid("shape ", shape_text(reshaped), " cannot hold ", shape_text(in));
  const Operand first = transpose_first ? permuted(plan, in, dims) : in;
  const Operand last = transpose_first ? reshaped : permuted(plan, reshaped, dims);
  plan.require_same_shape(last, "x, permuted and reshaped,", to, "out");
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs dense = dense_input(first.view(e));
    k::copy({dense.view().data, last.sizes, last.strides, last.ndim, in.dtype}, to.view(e));
  });
}

namespace {

void expand(Plan& plan, const aclTensor* self, const aclIntArray* size, const aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  std::vector<int64_t> sizes = plan.integers(size, "size");
  const int added = int(sizes.size()) - in.ndim;
  for (size_t i = 0; i < sizes.size(); ++i)  // -1 keeps a size
    if (sizes[i] == -1 && int(i) >= added) sizes[i] = in.sizes[int(i) - added];
  plan.require_shape(to, "out", sizes);
  plan.require_same_dtype(in, "self", to, "out");
  copy_between(plan, broadcast_to(plan, in, "self", to), to);
}

}  // namespace

void Expand(Plan& plan, const aclTensor* self, const aclIntArray* size, aclTensor* out) {
  expand(plan, self, size, out);
}
void Expandv(Plan& plan, const aclTensor* self, const aclIntArray* shape, aclTensor* out) {
  expand(plan, self, shape, out);
}

void Flip(Plan& plan, const aclTensor* self, const aclIntArray* dims, aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_same_dtype(in, "self", to, "out");
  plan.require_same_shape(in, "self", to, "out");
  Operand from = in;
  std::vector<bool> turned(kMaxDims, false);
  for (int64_t dim : plan.integers(dims, "dims")) {
    const int along = plan.dim(dim, in);
    if (turned[size_t(along)]) plan.invalid("dim ", dim, " appears twice");
    turned[size_t(along)] = true;
    if (in.ndim > 0) from = mirrored(from, along);
  }
  copy_between(plan, from, to);
}

namespace {

// Both parts of every dimension change places; what remains are copies of blocks.
void roll_blocks(const Operand& in, const Operand& to, const std::vector<int64_t>& shifts, int dim,
                 std::vector<std::pair<Operand, Operand>>& pairs) {
  if (dim == in.ndim) {
    pairs.emplace_back(in, to);
    return;
  }
  const int64_t size = in.sizes[dim], shift = shifts[size_t(dim)];
  if (shift == 0) return roll_blocks(in, to, shifts, dim + 1, pairs);
  roll_blocks(sliced(in, dim, 0, size - shift), sliced(to, dim, shift, size - shift), shifts, dim + 1, pairs);
  roll_blocks(sliced(in, dim, size - shift, shift), sliced(to, dim, 0, shift), shifts, dim + 1, pairs);
}

int64_t wrapped(int64_t shift, int64_t size) { return size == 0 ? 0 : (shift % size + size) % size; }

}  // namespace

void Roll(Plan& plan, const aclTensor* x, const aclIntArray* shifts, const aclIntArray* dims,
          aclTensor* out) {
  const Operand in = plan.input(x, "x"), to = plan.output(out, "out");
  const std::vector<int64_t> by = plan.integers(shifts, "shifts"), along = plan.integers(dims, "dims");
  plan.require_same_dtype(in, "x", to, "out");
  plan.require_same_shape(in, "x", to, "out");
  if (along.empty() && by.size() == 1) {  // of all elements in row-major order
    const int64_t count = in.numel(), shift = wrapped(by[0], count);
    plan.run([=](const aclOpExecutor& e) {
      const ReadAs dense = dense_input(in.view(e));
      const WriteAs result(to.view(e));
      const int64_t one = 1, rest = count - shift, item = item_bytes(in);
      char *from = dense.view().as<char>(), *target = result.view().as<char>();
      std::optional<Temporary> apart;  // in place, the source would be written over
      if (from == target) {
        apart.emplace(dense.view(), in.dtype);
        k::copy(dense.view(), apart->view());
        from = apart->view().as<char>();
      }
      k::copy({from, &rest, &one, 1, in.dtype}, {target + shift * item, &rest, &one, 1, in.dtype});
      k::copy({from + rest * item, &shift, &one, 1, in.dtype}, {target, &shift, &one, 1, in.dtype});
      result.finish();
    });
    return;
  }
  if (along.size() != by.size())
    plan.invalid("there are ", by.size(), " shifts and ", along.size(), " dims, wanted as many");
  std::vector<int64_t> total(size_t(in.ndim), 0);
  for (size_t i = 0; i < along.size(); ++i) {
    if (in.ndim == 0) continue;
    const int dim = plan.dim(along[i], in);
    total[size_t(dim)] = wrapped(total[size_t(dim)] + wrapped(by[i], in.sizes[dim]), in.sizes[dim]);
  }
  std::vector<std::pair<Operand, Operand>> pairs;
  roll_blocks(in, to, total, 0, pairs);
  copy_pairs(plan, std::move(pairs));
}

void Repeat(Plan& plan, const aclTensor* self, const aclIntArray* repeats, aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  const std::vector<int64_t> times = plan.integers(repeats, "repeats");
  plan.require_same_dtype(in, "self", to, "out");
  const int added = int(times.size()) - in.ndim;
  if (added < 0 || times.size() > kMaxDims)
    plan.invalid("there are ", times.size(), " repeats for shape ", shape_text(in), ", wanted ", in.ndim,
                 " to ", kMaxDims);
  std::vector<int64_t> wanted;
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i] < 0) plan.invalid("a repeat is ", times[i], ", wanted at least 0");
    wanted.push_back(times[i] * (int(i) < added ? 1 : in.sizes[int(i) - added]));
  }
  plan.require_shape(to, "out", wanted);
  plan.run([=](const aclOpExecutor& e) {
    // Every dimension of the result as two: which repetition, and the place in it.
    int64_t sizes[2 * kMaxDims], from_strides[2 * kMaxDims], to_strides[2 * kMaxDims];
    const int ndim = to.ndim;
    for (int i = 0; i < ndim; ++i) {
      const int own = i - added;
      const int64_t size = own < 0 ? 1 : in.sizes[own];
      sizes[2 * i] = times[size_t(i)], sizes[2 * i + 1] = size;
      from_strides[2 * i] = 0, from_strides[2 * i + 1] = own < 0 ? 0 : in.strides[own];
      to_strides[2 * i] = size * to.strides[i], to_strides[2 * i + 1] = to.strides[i];
    }
    k::copy({in.view(e).data, sizes, from_strides, 2 * ndim, in.dtype},
            {to.view(e).data, sizes, to_strides, 2 * ndim, in.dtype});
  });
}

}  // namespace softnpu::ops
