// Sequences of one or of several lengths, as recurrent operators take them.
//
// Kernels want rows packed (Note [Recurrent layers]). Tensors have them so, [N, W], or padded, [T, B, W], where sequences
// that have ended leave rows unused.
#pragma once

#include <vector>

#include "kernels/common/copy.h"
#include "kernels/common/temporary.h"
#include "kernels/recurrent/recurrent.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

// A matrix that is part of another one.
struct Block {
  int64_t sizes[2], strides[2];
  View view;

  Block(const View& of, int64_t row, int64_t rows, int64_t column, int64_t columns)
      : sizes{rows, columns},
        strides{of.strides[0], of.strides[1]},
        view{of.as<char>() + (row * of.strides[0] + column * of.strides[1]) * int64_t(mt::itemsize(of.dtype)),
             sizes, strides, 2, of.dtype} {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  static Block columns(const View& of, int64_t first, int64_t count) {
    return Block(of, 0, of.sizes[0], first, count);
  }
  static Block rows(const View& of, int64_t first, int64_t count) {
    return Block(of, first, count, 0, of.sizes[1]);
  }
};

// A matrix with rows and columns exchanged.
struct Transposed {
  int64_t sizes[2], strides[2];
  View view;

  explicit Transposed(const View& of)
      : sizes{of.sizes[1], of.sizes[0]},
        strides{of.strides[1], of.strides[0]},
        view{of.data, sizes, strides, 2, of.dtype} {}
  Transposed(const Transposed&) = delete;
  Transposed& operator=(const Transposed&) = delete;
};

class Sequences {
 public:
  // `rows` are the sequences that each step has: all in the first, and never more than in the step before.
  Sequences(std::vector<int64_t> rows, int64_t batch) : rows_(std::move(rows)), batch_(batch) {
    for (size_t t = 0; t < rows_.size(); ++t) {
      MT_CHECK(t == 0 ? rows_[t] == batch : rows_[t] >= 0 && rows_[t] <= rows_[t - 1], "step ", t, " has ",
               rows_[t], " sequences, wanted ", t == 0 ? "" : "at most ", t == 0 ? batch : rows_[t - 1]);
      starts_.push_back(total_);
      total_ += rows_[t];
    }
  }

  int64_t total() const { return total_; }
  int64_t batch() const { return batch_; }
  int64_t count() const { return int64_t(rows_.size()); }
  mt::kernels::Steps steps(bool reverse) const { return {rows_.data(), count(), reverse}; }

  // The rows of a tensor, into a matrix of `total` rows.
  void pack(const Operand& tensor, const aclOpExecutor& e, const View& into) const {
    const Operand from = arranged(tensor);
    if (from.ndim == 2) return mt::kernels::copy(from.view(e), into);
    for (int64_t t = 0; t < count(); ++t) {
      const Operand step = narrowed(selected(from, 0, t), 0, 0, rows_[size_t(t)]);
      mt::kernels::copy(step.view(e), Block::rows(into, starts_[size_t(t)], rows_[size_t(t)]).view);
    }
  }
  mt::kernels::Temporary packed(const Operand& tensor, const aclOpExecutor& e, DType dtype) const {
    mt::kernels::Temporary made({total_, tensor.sizes[tensor.ndim - 1]}, dtype);
    pack(tensor, e, made.view());
    return made;
  }

  // The way back. Unused rows receive those of `unused`, [B, W], or zeros.
  void spread(const View& from, const Operand& tensor, const aclOpExecutor& e,
              const View* unused = nullptr) const {
    const Operand to = arranged(tensor);
    if (to.ndim == 2) return mt::kernels::copy(from, to.view(e));
    for (int64_t t = 0; t < count(); ++t) {
      const int64_t rows = rows_[size_t(t)];
      const Operand step = selected(to, 0, t), used = narrowed(step, 0, 0, rows),
                    rest = narrowed(step, 0, rows, batch_ - rows);
      mt::kernels::copy(Block::rows(from, starts_[size_t(t)], rows).view, used.view(e));
      if (unused == nullptr) mt::kernels::fill(rest.view(e), Scalar(0));
      else mt::kernels::copy(Block::rows(*unused, rows, batch_ - rows).view, rest.view(e));
    }
  }

  // The state before each row: that of the step before, or the first one, [B, W].
  void states_before(const View& states, const View& first, bool reverse, const View& into) const {
    for (int64_t t = 0; t < count(); ++t) {
      const int64_t before = reverse ? t + 1 : t - 1, rows = rows_[size_t(t)], at = starts_[size_t(t)];
      const int64_t running = before < 0 || before == count() ? 0 : std::min(rows_[size_t(before)], rows);
      if (running > 0)
        mt::kernels::copy(Block::rows(states, starts_[size_t(before)], running).view,
                          Block::rows(into, at, running).view);
      mt::kernels::copy(Block::rows(first, running, rows - running).view,
                        Block::rows(into, at + running, rows - running).view);
    }
  }

 private:
  // [N, W] if packed, else [T, B, W], which may come as [T * B, W].
  Operand arranged(const Operand& tensor) const {
    if (tensor.ndim == 3 || tensor.sizes[0] == total_) return tensor;
    MT_CHECK(tensor.sizes[0] == count() * batch_, "a tensor has shape ", shape_text(tensor), ", wanted ",
             total_, " packed or ", count() * batch_, " padded rows");
    Operand result = unsqueezed(tensor, 0);
    result.sizes[0] = count(), result.strides[0] = tensor.strides[0] * batch_;
    result.sizes[1] = batch_;
    return result;
  }

  std::vector<int64_t> rows_, starts_;
  int64_t batch_, total_ = 0;
};

}  // namespace softnpu::ops
