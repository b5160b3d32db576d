#include "infer/lists.h"

#include <exception>

#include <algorithm>

#include "core/accelerator.h"
#include "core/views.h"

namespace mt::infer {

void check_list(TensorList tensors) {
  MT_CHECK(!tensors.empty(), "Tensor list must have at least one tensor.");
}

void check_lists(TensorList tensors, TensorList others) {
  MT_CHECK(tensors.size() == others.size(), "Tensor lists must have the same number of tensors, got ",
           tensors.size(), " and ", others.size());
}

void check_lists(TensorList tensors, std::span<const Scalar> numbers) {
  MT_CHECK(tensors.size() == numbers.size(), "Tensor list must have same number of elements as scalar list.");
}

void check_lists(TensorList tensors, const Tensor& numbers) {
  MT_CHECK(numbers.device().is_cpu(), "Expected scalars to be on CPU, got ", to_string(numbers.device()),
           " instead.");
  MT_CHECK(numbers.is_contiguous(), "Expected scalars to be contiguous.");
  MT_CHECK(numbers.dim() == 1, "Expected packed scalar Tensor to be of dimension 1. Got ", numbers.dim(),
           " instead.");
  MT_CHECK(numbers.numel() == int64_t(tensors.size()), "Expected length of scalars to match input of length ",
           tensors.size(), " but got ", numbers.numel(), " instead.");
}

const Tensor& list_number(const Tensor& number) {
  MT_CHECK(number.dim() == 0 && number.numel() == 1, "scalar tensor expected to be 0 dim but it has ",
           number.dim(), " dimensions and ", number.numel(), " elements.");
  return number;
}

Scalar list_entry(const Tensor& numbers, size_t i) { return item(views::select(numbers, 0, int64_t(i))); }

bool in_one_call(std::initializer_list<TensorList> lists) {
  const TensorList first = *lists.begin();
  const Device device = first[0].device();
  const DType dtype = first[0].dtype();
  if (!device.is_accelerator() || !accelerator(device.type).takes_lists(dtype)) return false;
  for (const TensorList& list : lists)
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].device() != device || list[i].dtype() != dtype || !list[i].is_contiguous() ||
          list[i].numel() == 0 || !std::ranges::equal(list[i].sizes(), first[i].sizes()))
        return false;
  return true;
}

std::vector<Tensor> tensors_like(TensorList tensors) {
  std::vector<Tensor> made;
  made.reserve(tensors.size());
  for (const Tensor& t : tensors) made.push_back(new_tensor(t.sizes(), t.dtype(), t.device()));
  return made;
}

OverList::OverList(TensorList list)
    : accelerator_(list[0].device().is_accelerator() ? &accelerator(list[0].device().type) : nullptr),
      errors_(std::uncaught_exceptions()) {
  if (accelerator_) accelerator_->list_begins();
}

OverList::~OverList() noexcept(false) {
  if (!accelerator_) return;
  try {
    accelerator_
        ->list_ends();  // also after an entry that failed: what came before it is done, as without a list
  } catch (const Error&) {
    if (std::uncaught_exceptions() == errors_) throw;  // else the first error is on its way, and says more
  }
}

}  // namespace mt::infer
