// Operators over lists of tensors.
#pragma once

#include "core/accelerator.h"
#include "infer/infer.h"

namespace mt::infer {

void check_list(TensorList tensors);  // not empty
void check_lists(TensorList tensors, TensorList others);
void check_lists(TensorList tensors, std::span<const Scalar> numbers);
void check_lists(TensorList tensors, const Tensor& numbers);  // a number per entry
const Tensor& list_number(const Tensor& number);              // one number for all entries
Scalar list_entry(const Tensor& numbers, size_t i);

// Whether a device may do lists in one launch: entries of one floating dtype on one device, dense, and of the same
// shapes in all lists.
bool in_one_call(std::initializer_list<TensorList> lists);
std::vector<Tensor> tensors_like(TensorList tensors);

// While an operator runs entry by entry: a device may gather what it launches for them.
class OverList {
 public:
  explicit OverList(TensorList list);
  ~OverList() noexcept(false);
  OverList(const OverList&) = delete;

 private:
  Accelerator* accelerator_;
  int errors_;  // that were on their way when it began
};

}  // namespace mt::infer
