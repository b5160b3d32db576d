// How samples move when the parameter they were drawn with does: Note [Slopes of samples] in base/exp_sinh.h.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// Of standard gamma numbers.
void gamma_slopes(const View& concentrations, const View& samples, const View& out);
// Of an entry of a Dirichlet vector, less the part that the normalisation takes: the slope of the beta number
// over (1 - sample).
void dirichlet_slopes(const View& samples, const View& concentrations, const View& totals, const View& out);

}  // namespace mt::kernels
