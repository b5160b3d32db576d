// Counting elements by their value.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// out[i] = how many elements fall into the i-th of out's equal bins between low and high, which belongs to the last;
// what lies outside (NaN too) is not counted. Equal limits stand for the smallest and largest element.
void histogram(const View& in, const View& out, double low, double high);
// out[v] = how many elements are v, or the sum of their weights. Elements are non-negative integers below out's size.
void count_values(const View& in, const View* weights, const View& out);

}  // namespace mt::kernels
