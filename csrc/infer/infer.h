// Shape and dtype rules, written once for every device: what they allocate on `meta` is the meta backend.
//
// A rule ends in Output::prepare(sizes, dtype, …), which allocates a fresh result, or checks (in-place) or
// resizes (out=) the tensor the caller gave.
//
// Note [Results of the declared dtype]
// Kernels trust that what they write has the dtype and the shape that the rule gave it: a narrower one would be written
// beyond its end. So a kernel never gets a caller's tensor of another dtype: it writes a tensor beside it, which
// finish() casts into the caller's. That is also how PyTorch computes: half + half is rounded to half before it is
// widened to a float32 out=. The same goes for an out= that the kernel reads too and that had to be resized.
//
// Here are the rules of families and what all areas use. Rules and checks of single rows (`infer:` and `check:`) are in
// the file of their area: those of ops/sort.yaml in sort.cpp, declared by the generated header generated/infer/sort.h.
#pragma once

#include "core/dispatch.h"
#include "core/generator.h"

namespace mt::infer {

enum class Rule : uint8_t {
  same,
  promote,
  to_float,
  boolean,
  numeric,
  sum,
  floating,
  with_scalar,
  to_real,
  to_real_float
};

class Output {
 public:
  Output() = default;  // a fresh tensor
  static Output inplace(const Tensor& self) { return {self, Mode::inplace}; }
  // `read`: `out` is an operand as well.
  static Output into(const Tensor& out, bool read = false) {
    return {out, read ? Mode::out_that_is_read : Mode::out};
  }

  // The same where another dtype than the result's is refused by the operator's own words afterwards (`out_dtype:`).
  static Output into_exactly(const Tensor& out, bool read = false) {
    return {out, read ? Mode::exact_that_is_read : Mode::exact};
  }
  // In place, an element may be written more than once: some operators only warn of it.
  void allow_overlap() {
    if (mode_ == Mode::inplace) mode_ = Mode::overlapping;
  }
  // The dtype of the caller's tensor, for results that may have any.
  DType dtype_or(DType otherwise) const { return existing_ ? existing_->dtype() : otherwise; }

  // `like`: a tensor whose dense, permuted strides the result takes over; may be null.
  void prepare(IntList sizes, DType dtype, Device device, const Tensor* like = nullptr);
  // The same for images: channels come last in memory where they do in one of `like`. Accelerators have their own layouts.
  void prepare_images(IntList sizes, DType dtype, Device device, std::initializer_list<const Tensor*> like);
  // The same without room for a kernel to write: a result that is already there goes into the caller's tensor.
  void accept(const Tensor& result);
  // The same with strides that are known, without holes.
  void prepare_strided(IntList sizes, IntList strides, DType dtype, Device device);
  // The sizes of a tensor and, unless it has holes, its very strides.
  void prepare_like(const Tensor& like, DType dtype, Device device);
  // Behind prepare: the strides that dimensions of one element have in `like` count as well, as in a broadcast.
  void keep_order_of(const Tensor& like);
  Tensor take() { return std::move(fresh_); }
  bool is_inplace() const { return mode_ == Mode::inplace || mode_ == Mode::overlapping; }

  // What the kernel writes, and what puts it where the caller wants it. Note [Results of the declared dtype]
  const Tensor& written() const { return fresh_.defined() ? fresh_ : *existing_; }
  void finish() const {
    if (fresh_.defined()) [[unlikely]]
      move_into_existing();
  }

 private:
  enum class Mode : uint8_t {
    fresh,
    inplace,
    out,
    out_that_is_read,
    exact,  // out=, whose dtype somebody else compares
    exact_that_is_read,
    overlapping,  // in place
    resized       // an out= that has the strides of a fresh tensor now
  };
  bool is_read() const { return mode_ == Mode::out_that_is_read || mode_ == Mode::exact_that_is_read; }
  Output(const Tensor& tensor, Mode mode) : existing_(&tensor), mode_(mode) {}
  // Strides that the tensor gets where it has to be resized; none: those of a contiguous one.
  void prepare_existing(IntList sizes, IntList strides, DType dtype, Device device);
  // Whether the caller's tensor has these sizes already; refuses one that cannot take the result.
  bool fits(IntList sizes, DType dtype, Device device) const;
  void resize_existing(IntList sizes, IntList strides) const;
  void move_into_existing() const;

  Tensor fresh_;
  const Tensor* existing_ = nullptr;  // the caller's; not counted, because it outlives the call
  Mode mode_ = Mode::fresh;
};

// Whether `written` is among the operands.
inline bool reads(const Tensor& written, const Tensor& operand) { return written.same(operand); }
inline bool reads(const Tensor& written, TensorList operands) {
  for (const Tensor& operand : operands)
    if (written.same(operand)) return true;
  return false;
}

// ---- dtypes ----
DType promoted_type(const Tensor& a, const Tensor& b);
inline DType result_type(const Tensor& a, const Tensor& b) {
  const bool plain = !a.impl()->wrapped_number && !b.impl()->wrapped_number;
  return plain && a.dtype() == b.dtype() ? a.dtype() : promoted_type(a, b);
}
DType result_type(const Tensor& a, const Scalar& b);
DType result_type(TensorList tensors);
DType ternary_type(const Tensor& a, const Tensor& b, const Tensor& c);
inline DType float_if_integral(DType t) { return is_integral(t, true) ? default_dtype() : t; }
// The type an elementwise kernel computes in.
template <class B>
DType compute_type(const Tensor& a, const B& b, Rule rule) {
  const DType t = result_type(a, b);
  return rule == Rule::to_float ? float_if_integral(t) : t;
}

// ---- shapes ----
Dims broadcast(IntList a, IntList b);
// Makes a 0-dim CPU operand meet the other's device; anything else on two devices is an error.
void bring_together(const Tensor*& a, const Tensor*& b, Tensor& moved);
void check_same_device(std::initializer_list<const Tensor*> tensors);
// In-place writes through overlapping memory (an expanded dimension) have no meaning.
void check_written_once(const Tensor& t);
void refuse_partial_overlap(const Tensor& written, const Tensor& read);
inline void check_no_partial_overlap(const Tensor& written, const Tensor& read) {
  if (written.impl()->storage == read.impl()->storage && written.impl() != read.impl()) [[unlikely]]
    refuse_partial_overlap(written, read);
}
// A number that the dtype cannot hold is an error where one value fills a tensor.
void check_fits(const Tensor& self, const Scalar& value);
// An alpha that does not suit the operands that it scales is refused.
void check_alpha(DType result, const Scalar& alpha);
Dims reduced_shape(IntList sizes, const DimList& dims, bool keepdim);
uint64_t dim_mask(const DimList& dims, int64_t ndim);  // bit d set: dimension d is reduced
// Strides of a dense tensor in the given format.
Dims strides_for(IntList sizes, MemoryFormat format);

// ---- families ----
void unary(const Tensor& self, Rule rule, Output& out);
void unary(const Tensor& self, const Scalar& number, Rule rule, Output& out);
void binary(const Tensor& a, const Tensor& b, Rule rule, Output& out);
void binary(const Tensor& a, const Scalar& b, Rule rule, Output& out);
void reduce(const Tensor& self, const DimList& dim, bool keepdim, std::optional<DType> dtype, Rule rule,
            Output& out);

}  // namespace mt::infer
