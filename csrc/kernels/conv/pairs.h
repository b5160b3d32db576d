// Convolutions of bfloat16 by pairs (Note [Pairs]), in these tiles. Sums are floats until the end.
#pragma once

#include "kernels/conv/conv.h"
#include "kernels/matmul/bfloat16_product.h"

namespace mt::kernels {

void convolve_pairs(const PairTiles& tiles, const View& wide, const View& weight, const View* bias,
                    const View& narrow, const ConvOptions& options);
void convolve_pairs_transposed(const PairTiles& tiles, const View& narrow, const View& weight,
                               const View* bias, const View& wide, const ConvOptions& options);
void convolve_pairs_weight(const PairTiles& tiles, const View& wide, const View& narrow, const View& weight,
                           const ConvOptions& options);

}  // namespace mt::kernels
