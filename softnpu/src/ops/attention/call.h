// What the fused attention operators have in common: tensors in one of several layouts seen as sequences of heads, masks
// and bands, and the loop over the sequences.
#pragma once

#include "kernels/attention/fused.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

// A tensor of some layout, sequence by sequence. H is the hidden size, heads times width.
class HeadSequences {
 public:
  HeadSequences() { whole_.ndim = 0; }
  // layout: BSH, SBH, BSND, BNSD, NBSD, TND or NTD; `ends` are the cumulative lengths of packed (T) sequences.
  HeadSequences(const Plan& plan, const Operand& tensor, const char* name, std::string_view layout,
                int64_t heads, const std::vector<int64_t>& ends);
  // For statistics: [B, heads, S, n], or [T, heads, n] if packed.
  static HeadSequences statistics(const Plan& plan, const Operand& tensor, const char* name, bool packed,
                                  const std::vector<int64_t>& ends);

  int64_t count() const { return packed_ ? int64_t(ends_.size()) : whole_.sizes[0]; }
  int64_t heads() const { return whole_.sizes[packed_ ? 0 : 1]; }
  int64_t width() const { return whole_.sizes[packed_ ? 2 : 3]; }
  int64_t length(int64_t sequence) const {
    return packed_ ? ends_[size_t(sequence)] - start(sequence) : whole_.sizes[2];
  }
  // Rows of all sequences, if packed.
  int64_t total() const { return whole_.sizes[1]; }
  DType dtype() const { return whole_.dtype; }
  bool packed() const { return packed_; }
  // [heads, length, width]
  Operand at(int64_t sequence) const {
    return packed_ ? narrowed(whole_, 1, start(sequence), length(sequence)) : selected(whole_, 0, sequence);
  }
  std::vector<int64_t> shape() const { return sizes_of(whole_); }

 private:
  int64_t start(int64_t sequence) const { return sequence == 0 ? 0 : ends_[size_t(sequence) - 1]; }

  bool packed_ = false;
  Operand whole_;  // [B, heads, S, width], or [heads, T, width] if packed
  std::vector<int64_t> ends_;
};

// The part of a mask or bias that belongs to a sequence, as [heads or 1, L, S].
Operand part_for(const Operand& whole, int64_t sequence, int64_t length, int64_t keys);
void require_part(const Plan& plan, const Operand& whole, const char* name, const HeadSequences& query,
                  const HeadSequences& key);

// How the sparse mode and its tokens hide keys besides the mask.
struct Sparsity {
  int64_t mode, before, after;
  bool masked;

  static Sparsity checked(const Plan& plan, int64_t mode, int64_t before, int64_t after, bool masked);
  // In modes 2 to 4 the mask that comes along is a triangle of fixed size, which the band replaces.
  bool uses_mask() const { return masked && (mode < 2 || mode == 5); }
  void apply(mt::kernels::FusedAttention& problem, int64_t length, int64_t keys) const;
};

}  // namespace softnpu::ops
