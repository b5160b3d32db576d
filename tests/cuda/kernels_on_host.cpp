// Kernels of the families by name, for tests that run them on the host.
#include "emulated.h"

#include "backends/cuda/device/copy.h"
#include "backends/cuda/device/ctc.h"
#include "backends/cuda/device/cumulative.h"
#include "backends/cuda/device/distance.h"
#include "backends/cuda/device/eigenvectors.h"
#include "backends/cuda/device/index.h"
#include "backends/cuda/device/loss.h"
#include "backends/cuda/device/normalization.h"
#include "backends/cuda/device/optimizer.h"
#include "backends/cuda/device/pool.h"
#include "backends/cuda/device/random.h"
#include "backends/cuda/device/region.h"
#include "backends/cuda/device/resample.h"
#include "backends/cuda/device/softmax.h"
#include "backends/cuda/device/sort.h"

#include "named_kernels.h"

MT_KERNEL(run_softmax_rows, SoftmaxCall, softmax_rows<float, float, false>)
MT_KERNEL(run_log_softmax_rows, SoftmaxCall, softmax_rows<float, float, true>)
MT_KERNEL(run_softmax_lanes, SoftmaxCall, softmax_lanes<float, float, false, 4>)
MT_KERNEL(run_softmax_columns, SoftmaxCall, softmax_columns<float, float, false>)
MT_KERNEL(run_softmax_rows_backward, SoftmaxCall, softmax_rows_backward<float, float, float, false>)
MT_KERNEL(run_log_softmax_columns_backward, SoftmaxCall, softmax_columns_backward<float, float, float, true>)
MT_KERNEL(run_log_softmax_lanes_backward, SoftmaxCall, softmax_lanes_backward<float, float, float, true, 4>)
MT_KERNEL(row_norm_0, RowNormCall, row_norm<float, float, float, true, 0>)
MT_KERNEL(row_norm_4, RowNormCall, row_norm<float, float, float, true, 4>)
MT_KERNEL(row_norm_b, RowNormCall, row_norm_backward<float, float, float, true, 0>)
MT_KERNEL(row_norm_b4, RowNormCall, row_norm_backward<float, float, float, true, 4>)
MT_KERNEL(row_norm_p, RowNormCall, row_norm_backward_parts<float, float, true>)
MT_KERNEL(parts_a, PartsCall, parts_added<float, float>)
MT_KERNEL(row_stats, RowNormCall, row_statistics<float, float>)
MT_KERNEL(gn_applied, GroupNormCall, group_norm_applied<float, float, float>)
MT_KERNEL(gn_sums, GroupNormCall, plane_sums<float>)
MT_KERNEL(gn_coef, GroupNormCall, group_norm_coefficients<float, float, float>)
MT_KERNEL(gn_bin, GroupNormCall, group_norm_backward_input<float, float, float>)
MT_KERNEL(gn_bp, GroupNormCall, group_norm_backward_parameters<float, float, float>)
MT_KERNEL(ch_mom_o, ChannelNormCall, channel_moments<float, false>)
MT_KERNEL(ch_mom_i, ChannelNormCall, channel_moments<float, true>)
MT_KERNEL(ch_stat, ChannelNormCall, channel_statistics<float, float, float>)
MT_KERNEL(ch_app, ChannelNormCall, channel_applied<float, float, float>)
MT_KERNEL(ch_prod_o, ChannelNormCall, channel_products<float, float, false>)
MT_KERNEL(ch_prod_i, ChannelNormCall, channel_products<float, float, true>)
MT_KERNEL(ch_tot, ChannelNormCall, channel_totals<float, float, float>)
MT_KERNEL(ch_bin, ChannelNormCall, channel_backward_input<float, float, float>)
MT_KERNEL(run_sum, RunningCall, running_rows<float, float, RunningSum<float>, false>)
MT_KERNEL(run_fold, RunningCall, running_folded<float, RunningSum<float>, false>)
MT_KERNEL(run_carry, RunningCall, running_carried<float, RunningSum<float>>)
MT_KERNEL(run_rsum, RunningCall, running_rows<float, float, RunningSum<float>, true>)
MT_KERNEL(run_max, RunningCall, running_rows<float, float, RunningExtreme<float, true>, false>)
MT_KERNEL(run_lse, RunningCall, running_columns<float, float, RunningLogSumExp<float>, false>)
MT_KERNEL(keys_a, SortCall, keys_made<float, false>)
MT_KERNEL(keys_d, SortCall, keys_made<float, true>)
MT_KERNEL(chosen_a, SortCall, rows_chosen<float, false>)
MT_KERNEL(chosen_d, SortCall, rows_chosen<float, true>)
MT_KERNEL(rows_s, SortCall, rows_sorted<uint32_t>)
MT_KERNEL(dig_c, SortCall, digits_counted<uint32_t>)
MT_KERNEL(dig_s, SortCall, digits_scanned)
MT_KERNEL(dig_m, SortCall, digits_moved<uint32_t>)
MT_KERNEL(taken, SortCall, sorted_taken<float>)
MT_KERNEL(mode_f, SortCall, mode_found<float>)
MT_KERNEL(search_f, SearchCall, searched<float, int64_t>)
MT_KERNEL(rnd_u, RandomCall, random_filled<float, Drawn::uniform>)
MT_KERNEL(rnd_n, RandomCall, random_filled<float, Drawn::normal>)
MT_KERNEL(rnd_i, RandomCall, random_filled<int64_t, Drawn::in_range>)
MT_KERNEL(gath, LookupCall, gathered<uint32_t>)
MT_KERNEL(scat_add, LookupCall, combined<float, Combined::add>)
MT_KERNEL(scat_add_h, LookupCall, combined<Half, Combined::add>)
MT_KERNEL(scat_max, LookupCall, combined<int8_t, Combined::max>)
MT_KERNEL(nz_c, NonzeroCall, nonzero_counted<float>)
MT_KERNEL(nz_s, NonzeroCall, counts_scanned)
MT_KERNEL(nz_w, NonzeroCall, nonzero_written<float>)
MT_KERNEL(runs, RunsCall, runs_found)
MT_KERNEL(tri, ShapeCall, triangle<uint32_t>)
MT_KERNEL(tri_i, TriangleIndicesCall, triangle_places<int64_t>)
MT_KERNEL(padr, PadCall, padded<uint32_t, Padding::reflect>)
MT_KERNEL(padrb, PadCall, padded_backward<float, Padding::reflect>)
MT_KERNEL(join, JoinCall, joined<uint32_t>)
MT_KERNEL(i2c, ColumnsCall, image_to_columns<uint32_t>)
MT_KERNEL(c2i, ColumnsCall, columns_to_image<float>)
MT_KERNEL(lossf, LossCall, loss_folded<float, PointwiseLoss::huber>)
MT_KERNEL(bcef, LossCall, loss_folded<float, PointwiseLoss::logit_entropy>)
MT_KERNEL(bceb, LossCall, loss_backward<float, PointwiseLoss::logit_entropy, false>)
MT_KERNEL(losse, LossCall, loss_finished<float>)
MT_KERNEL(nllf, NllCall, nll_folded<float>)
MT_KERNEL(nlld, NllCall, nll_finished<float>)
MT_KERNEL(nllb, NllCall, nll_backward<float>)
MT_KERNEL(maxp, PoolCall, max_pooled<float>)
MT_KERNEL(avgp, PoolCall, avg_pooled<float>)
MT_KERNEL(avgpb, PoolCall, avg_pooled_backward<float>)
MT_KERNEL(grid_s, GridCall, grid_sampled<float>)
MT_KERNEL(grid_b, GridCall, grid_sampled_backward<float>)
MT_KERNEL(adam_s, StepCall, adam_stepped<float, float, true, true>)
MT_KERNEL(sgd_s, StepCall, sgd_stepped<float, float, true>)
MT_KERNEL(cd, DistanceCall, rows_apart<float, Norm::general>)
MT_KERNEL(cdb, DistanceCall, rows_apart_backward<float, Norm::general>)
MT_KERNEL(pd, DistanceCall, pairs_apart<float, Norm::two>)
MT_KERNEL(pdb, DistanceCall, pairs_apart_backward<float, Norm::two>)
MT_KERNEL(ctc_forward, CtcCall, ctc_summed<float>)
MT_KERNEL(ctc_back, CtcCall, ctc_backward<float>)
MT_KERNEL(regions, RegionCall, region_averaged<float>)
MT_KERNEL(regions_back, RegionCall, region_spread<float>)
MT_KERNEL(taps_m, TapsCall, taps_made)
MT_KERNEL(taps_a, TapsCall, taps_applied<float>)
MT_KERNEL(taps_t, TapsCall, taps_transposed<float>)
MT_KERNEL(eigv, EigenvectorsCall, eigenvectors_unpacked<float>)
