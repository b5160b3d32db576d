// Loops along time: recursive filters, and the best alignment of labels.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// padded[b, c, t + order - 1] = input[b, c, t] - sum over i of flipped[c, i] * padded[b, c, t + i].
void recursive_filter(const View& input, const View& flipped, const View& padded);

// log_probs [T, classes]; targets [L]. path [T]: the label or blank of each time step on the most likely way through all
// targets, with blanks where one wants and between equal ones.
void align_labels(const View& log_probs, const View& targets, int64_t blank, const View& path);

}  // namespace mt::kernels
