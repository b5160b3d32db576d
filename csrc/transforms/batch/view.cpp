#include "generated/batch/view.h"

#include "core/views.h"
#include "generated/ops/view.h"

namespace mt::batch {
namespace {

const Dims& list(const Call& call, size_t i) { return std::get<Dims>(call.arguments[i]); }

// Dimensions of size 1, without that of the batch.
Dims single_dims(const Tensor& batch) {
  Dims found;
  for (int64_t d = 1; d < batch.dim(); ++d)
    if (batch.sizes()[size_t(d)] == 1) found.push_back(d);
  return found;
}

// The window that one slice has, for each slice.
struct Windows {
  Dims size, stride;
  int64_t offset;

  explicit Windows(const Call& call)
      : size(with_batch(call.size, list(call, 1))), offset(call.value(0).offset()) {
    const Tensor& value = call.value(0);
    stride = with_batch(call.batched(0) ? value.strides()[0] : 0, list(call, 2));
    if (!is_none(call.arguments[3])) offset = std::get<int64_t>(call.arguments[3]);
    const int64_t first = value.offset();
    const int64_t last = first + checked_reach(value.sizes().subspan(1), value.strides().subspan(1), 0, 1);
    const int64_t reached = offset + checked_reach(list(call, 1), list(call, 2), 0, 1);
    MT_CHECK(reached <= offset || (offset >= first && reached <= last), "result = tensor.as_strided(",
             to_string(list(call, 1)), ", ", to_string(list(call, 2)), ", ", offset,
             ") can access memory outside of `tensor`. `result` can access some memory in range [", offset,
             ", ", reached, "], but `tensor` can only access some memory in range [", first, ", ", last,
             "]. This is not supported inside of vmap, please try to rewrite the `as_strided` call as a "
             "sequence of PyTorch view operations");
  }
};

}  // namespace

Values view_sizes(Call& call) {
  const Dims sizes = views::infer_size(list(call, 1), call.given(0).numel());
  return {ops::view(call.value(0), with_batch(call.size, sizes))};
}

Values permute(Call& call) {
  MT_CHECK(int64_t(list(call, 1).size()) == call.rank(0),
           "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
           "desired ordering of dimensions i.e. input.dim() = ",
           call.rank(0), " is not equal to len(dims) = ", list(call, 1).size());
  return {ops::permute(call.value(0), with_batch(0, below(list(call, 1), call.rank(0))))};
}

Values turn(Call& call) {
  MT_CHECK(call.rank(0) <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", call.rank(0), "D");
  if (call.rank(0) < 2) return {ops::alias(call.value(0))};
  return {ops::transpose(call.value(0), 1, 2)};
}
Values turn_in_place(Call& call) {
  if (call.rank(0) == 2) ops::transpose_(call.value(0), 1, 2);
  return {};
}

Values expand(Call& call) {
  const Dims& sizes = list(call, 1);
  MT_CHECK(int64_t(sizes.size()) >= call.rank(0), "expand(", to_string(call.given(0).sizes()),
           ", size=", to_string(sizes), "): the number of sizes provided (", sizes.size(),
           ") must be greater or equal to the number of dimensions in the tensor (", call.rank(0), ")");
  return {ops::expand(with_rank(call.value(0), int64_t(sizes.size())), with_batch(call.size, sizes))};
}

Values squeeze_all(Call& call) { return {ops::squeeze(call.value(0), single_dims(call.value(0)))}; }
Values squeeze_all_in_place(Call& call) {
  ops::squeeze_(call.value(0), single_dims(call.value(0)));
  return {};
}

Values unsqueeze(Call& call) {
  return {ops::unsqueeze(call.value(0), below(std::get<int64_t>(call.arguments[1]), call.rank(0) + 1))};
}
Values unsqueeze_in_place(Call& call) {
  ops::unsqueeze_(call.value(0), below(std::get<int64_t>(call.arguments[1]), call.rank(0) + 1));
  return {};
}

// A slice without dimensions is one piece.
Values unfold(Call& call) {
  if (call.rank(0) > 0) return dims(call);
  const Tensor pieces =
      ops::unfold(with_rank(call.value(0), 1), below(std::get<int64_t>(call.arguments[1]), 1),
                  std::get<int64_t>(call.arguments[2]), std::get<int64_t>(call.arguments[3]));
  return {ops::select(pieces, 1, 0)};
}

Values as_strided(Call& call) {
  const Windows windows(call);
  return {ops::as_strided(call.value(0), windows.size, windows.stride, windows.offset)};
}
Values as_strided_in_place(Call& call) {
  const Windows windows(call);
  ops::as_strided_(call.value(0), windows.size, windows.stride, windows.offset);
  return {};
}

namespace {

int64_t number(const Call& call, size_t i) { return std::get<int64_t>(call.arguments[i]); }

// A dimension of the whole, whose sizes are the second argument.
int64_t of_whole(const Call& call, size_t i) { return below(number(call, i), int64_t(list(call, 1).size())); }

}  // namespace

Values select_backward(Call& call) {
  return {ops::select_backward(call.value(0), with_batch(call.size, list(call, 1)), of_whole(call, 2),
                               number(call, 3))};
}

Values slice_backward(Call& call) {
  return {ops::slice_backward(call.value(0), with_batch(call.size, list(call, 1)), of_whole(call, 2),
                              number(call, 3), number(call, 4), number(call, 5))};
}

Values diagonal_backward(Call& call) {
  return {ops::diagonal_backward(call.value(0), with_batch(call.size, list(call, 1)), number(call, 2),
                                 of_whole(call, 3), of_whole(call, 4))};
}

}  // namespace mt::batch
