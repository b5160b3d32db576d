// What the host hands to the kernels of each family, as both sides see it: plain numbers, pointers and arrays.
#pragma once

namespace mt::cuda {

inline constexpr int kMaxShapeDims = 16;

// The shape that a call walks over, and tensors seen in it. The first dimension is the innermost; count may be 0.
struct Walk {
  long long count;
  int dims;
  long long sizes[kMaxShapeDims];
};
struct Places {
  void* data;
  long long strides[kMaxShapeDims];  // in elements, may be 0 or negative
};

// softmax.h. Dense tensors [outer, length, inner].
struct SoftmaxCall {
  const void* in;    // forward: the argument; backward: the gradient
  const void* made;  // backward: the result of forward
  void* out;
  long long outer, length, inner;
};

// normalization.h: rows of dense tensors. Pointers that may be null are marked.
struct RowNormCall {
  const void *in, *gradient;        // gradient: backward
  const void *weight, *bias;        // [length], may be null
  void* out;                        // the result, or the gradient in `in`
  void *mean, *rstd;                // [rows]; written by forward, read by backward. mean is null for rms_norm
  void *weight_parts, *bias_parts;  // backward: [parts, length] of the compute type, may be null
  long long rows, length;
  double eps, offset;  // offset: what is added to the weight
};
// Sums over parts that several blocks made.
struct PartsCall {
  const void* parts;  // [parts, count] of the compute type
  void* out;          // [count]
  long long count;
  int number;
};
struct GroupNormCall {
  const void *in, *gradient;
  const void *weight, *bias;  // [channels], may be null
  void* out;
  void *mean, *rstd;          // [batch, groups]
  void *sums, *products;      // [batch, channels] of the compute type: of the gradient, and of gradient * in
  void *by_input, *constant;  // [batch, groups] of the compute type: the gradient is linear in `in`
  void *grad_weight, *grad_bias;  // [channels], may be null
  long long batch, channels, space, groups;
  double eps;
};
// Element (n, c, s) lies at n * batch_stride + c * channel_stride + s * space_stride.
struct ChannelNormCall {
  const void *in, *gradient;
  const void *weight, *bias;  // [channels], may be null
  void* out;
  void *mean, *spread;  // [channels]: saved mean and 1 / deviation (training), or running mean and variance
  void *running_mean, *running_var;  // [channels], may be null; updated in training
  void* parts;                       // [channels, number] of Moments, or of pairs of sums
  void* totals;                      // [channels] of pairs of sums: backward
  void *grad_weight, *grad_bias;     // [channels], may be null
  long long batch, channels, space;
  long long batch_stride, channel_stride, space_stride;
  int number;  // of parts
  int training;
  double momentum, eps;
};

// index.h. `table` is seen in the shape of the other operand, with stride 0 along what the index replaces.
struct LookupCall {
  Walk walk;
  Places other, table, index;  // index: int64
  long long size;              // indices lie in [0, size), or in [-size, size) if they wrap
  long long stride;            // of the table, in elements, from one index to the next
  int wraps;
};
// Whole rows of a table: `width` units (of 1 to 16 bytes) each, `pitch` units apart.
struct RowsCall {
  const void* table;
  const long long* index;  // dense
  void* out;               // dense
  long long rows, width, pitch, size;
  int wraps;
};
// Elements of a dense tensor that are not zero.
struct NonzeroCall {
  const void* in;
  long long* counts;  // [blocks + 1]
  long long* out;     // [limit, dims] coordinates; the first dimension of the tensor comes first in a row
  long long count, limit;
  int dims;
  long long sizes[kMaxShapeDims];  // the first is the outermost here
};
// out[i] = j for the run j that covers i; ends[j] is where run j ends.
struct RunsCall {
  const long long* ends;
  long long* out;
  long long runs, count;
};
// Values that meet in a place: `places` are sorted, `order` says which value each came from.
struct MeetingCall {
  const long long *places, *order;
  const void* values;
  void* table;
  long long count, width;  // width: elements of a row that each value has
};

// copy.h
struct ShapeCall {
  Walk walk;
  Places in, out;
  long long diagonal;
  int keep_upper;
};
struct CountCall {
  void* out;  // with `stride`
  long long count, stride;
  double start, step, end;            // of floating types
  long long first, last, whole_step;  // of integers
};
struct TriangleIndicesCall {
  void* out;  // [2, count]
  long long count, rows, columns, offset;
  int upper;
};
struct PadCall {
  Walk walk;  // of the padded tensor
  Places in, out;
  long long in_sizes[kMaxShapeDims], before[kMaxShapeDims];
  alignas(16) char value[16];  // constant: an element
};
inline constexpr int kMaxJoined = 64;
struct JoinCall {
  const void* in[kMaxJoined];        // dense [outer, lengths[k]]
  long long starts[kMaxJoined + 1];  // of each in a row of the result; the last one is the row's length
  void* out;                         // dense
  long long outer;
  int number;
};
// image [planes, height, width], columns [planes * kernel, places].
struct ColumnsCall {
  void *image, *columns;  // dense
  long long planes, size[2], kernel[2], dilation[2], padding[2], stride[2], places[2];
};

// loss.h. Places of what is one number have strides of 0; data is null for what is not given.
struct LossCall {
  Walk walk;
  Places in, target, weight, pos_weight, gradient, out;
  void* parts;         // [gridDim.x] sums of the compute type
  double beta, scale;  // scale: 1, or 1 / count for means
};
struct NllCall {
  const void* scores;  // [samples / places, classes, places], dense
  const long long* target;
  const void *weight, *gradient;  // weight may be null
  void *out, *total_weight;       // backward: out is the gradient in the scores, total_weight is read
  void* parts;  // of the sums, [blocks] pairs of the compute type; null where one block does all
  long long samples, classes, places, ignored, blocks;
  int reduction;  // 0 none, 1 mean, 2 sum
  int alone;      // a single sample without a batch, which reports its weight
};

// ctc.h: a block for each sample. probs [steps, batch, classes] and all else dense.
struct CtcCall {
  const void *probs, *gradient;  // gradient [batch]: backward
  const long long* labels;
  const long long *input_lengths, *target_lengths, *label_starts;  // [batch]
  void* loss;                                                      // [batch]
  void* alpha;                                                     // [batch, steps, states]
  void* beta;                                                      // [batch, 2, states]: backward's room
  void* out;                                                       // as probs, zero before: backward
  long long steps, batch, classes, states, blank;
  int zero_infinity;
};

// region.h. images [images, channels, height, width], boxes [boxes, 5], bins [boxes, channels, down, across]; dense.
struct RegionCall {
  const void *in, *boxes;  // in: images, or the gradient in the bins
  void* out;               // the bins, or the gradient in the images, of the compute type and zero before
  long long images, channels, height, width, number, down, across;
  double scale;
  long long samples;  // of a bin in each dimension; not positive: as many as pixels
  int aligned;
};

// random.h. Where *_at are given, a graph is being recorded: seed and offset are read when it runs.
struct RandomCall {
  Walk walk;
  Places out;
  unsigned long long seed, offset;  // offset: a multiple of 4
  const long long *seed_at, *offset_at;
  double first, second;  // of the distribution
  unsigned long long range;
  long long base;
};
struct DropoutCall {
  const void* in;
  void* out;
  void* mask;  // bool
  long long count;
  unsigned long long seed, offset;
  const long long *seed_at, *offset_at;
  double keep;  // the probability of staying
};
struct ChancesCall {
  const void* chances;  // dense float, or double for double
  void* out;            // dense
  long long count;
  unsigned long long seed, offset;
  const long long *seed_at, *offset_at;
};

// cumulative.h. Dense tensors [outer, length, inner].
struct RunningCall {
  const void* in;
  void* out;
  long long* places;  // cummax and cummin: where the extreme lies
  void* carries;      // [outer, parts] of the operation's state; null when a row is one part
  long long outer, length, inner, part;  // part: elements of a row that a block takes
};

// optimizer.h. A block takes kListChunk elements of one tensor.
inline constexpr int kMaxListed = 40, kMaxLists = 5;
inline constexpr int kListChunk = 4096;
struct ListCall {
  void* data[kMaxListed][kMaxLists];  // parameter, gradient and state, dense
  long long counts[kMaxListed];
  int chunks[kMaxListed + 1];  // how many come before each tensor's; the last is gridDim.x
  int number;
};
struct StepCall {
  ListCall lists;
  const void* steps[kMaxListed];  // float, of each tensor; null: counted (of no use for SGD)
  float counted[kMaxListed];
  const float *scale,
      *found_inf;       // may be null: gradients are divided by one, and a step is left out for the other
  const void* rate_at;  // float; null: rate
  double rate, beta1, beta2, weight_decay, eps, momentum, dampening, rate_decay;
  int maximize, nesterov, first;
};
struct UnscaleCall {
  ListCall lists;
  float* found_inf;
  const float* factor;
};
struct ScaleCall {
  float* scale;
  int* successes;
  const float* found_inf;
  double growth, backoff;
  int interval;
};

// pool.h. Planes of up to three dimensions, dense; those in front are 1.
struct PoolCall {
  const void *in, *gradient;
  void* out;
  long long* indices;  // positions in the flattened plane
  long long planes, in_size[3], out_size[3], kernel[3], stride[3], padding[3], dilation[3];
  const long long* starts[3];  // fractional: [planes, out_size] where windows begin
  int adaptive, count_padding;
  long long divisor;  // 0: the window's size
};

// resample.h
// One dimension of dense tensors [outer, in, inner]: output o is the sum over k < counts[o] of
// weights[o * width + k] * input[firsts[o] + k].
struct TapsCall {
  const void* from;
  void* to;
  long long *firsts, *counts;
  double* weights;
  long long outer, in, out, inner, width;
  int round;     // integers: round and clamp instead of cutting off
  double scale;  // of kernels::InterpolatedLine, as what follows
  int mode, align_corners, single;
};
// in [batch, channels, sizes...], grid [batch, positions, dims], out [batch, channels, positions]; dense.
struct GridCall {
  const void *in, *grid, *gradient;
  void *out, *grad_in, *grad_grid;  // grad_in is zero before; either may be null
  long long batch, channels, sizes[3], positions;
  int dims, mode, padding, align_corners;
};

// sort.h. Dense rows.
struct SortCall {
  const void* in;
  void *keys, *other_keys;  // [rows, length] unsigned integers of the element's width
  unsigned *order, *other_order;
  unsigned* counts;  // [rows, 16, tiles]
  void* values;
  long long* indices;
  long long rows, length, taken;  // taken: of each row, from `first` on
  long long first, source;        // source: the length of a row of `in`, of which keys may be a part
  int shift, tiles;
};
struct SearchCall {
  const void *boundaries, *values;
  const long long* sorter;  // may be null
  void* out;
  long long rows, length, each;  // each: values of a row
  int shared;                    // one row of boundaries for all
  int right;
};

// distance.h. x1 [batch, rows, width], x2 [batch, others, width], distances [batch, rows, others]; dense.
struct DistanceCall {
  const void *x1, *x2, *gradient, *distances;
  void* out;
  long long batch, rows, others, width;
  double p;
};

// eigenvectors.h. values [matrices, size] complex, packed [matrices, size, size] real, column after column; dense.
struct EigenvectorsCall {
  const void *values, *packed;
  void* out;  // [matrices, size, size] complex, column after column
  long long matrices, size;
};

// attention.h. [batch, heads, rows, elements] each, with any strides: Places in that order from the end.
struct AttentionCall {
  Places query, key, value, mask;  // key and value have heads / shared heads; mask.data may be null
  Places out, gradient;            // gradient: of out, in backward
  Places grad_query, grad_key, grad_value;
  float* logsumexp;  // [batch, heads, queries]; written by forward, read by backward
  float* rows;       // backward: [2, batch, heads, queries]
  long long batch, heads, shared, queries, keys;
  int dim, value_dim;  // elements of a query and a key, and of a value
  int causal,
      mask_hides;  // query i sees the keys 0 .. i; mask_hides: of bool, false hides, otherwise of T and added
  int whole;  // bits: 16 bytes of query, key, value, out, gradient, grad_query, grad_key, grad_value may be moved at once
  double scale;
};

// float_products.h. out = alpha * left @ right + beta * self + bias, [batch, rows, columns]; results lie by rows.
struct FloatProductCall {
  const float *left, *right, *self, *bias;  // self [batch, rows, columns] and bias [columns] may be null
  float* out;                               // [batch, pieces, rows, columns]
  long long left_step, right_step, self_step, out_step;  // from one line of memory to the next
  long long left_batch, right_batch, self_batch, out_batch;
  int rows, columns, inner, batch;
  int each, pieces;             // of the inner dimension what a part has, and how many parts there are
  int row_tiles, column_tiles;  // of the result
  int shares;                   // row_tiles * column_tiles * pieces * batch
  int whole_out;                // 16 bytes of the result may be written at once
  float alpha, beta;
};

}  // namespace mt::cuda
