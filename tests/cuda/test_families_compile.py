"""Families of device kernels, compiled for every dtype that they serve."""

import pytest
from device_compiler import (
    ARCHITECTURES,
    OLDEST,
    QUICKLY,
    assembly_of,
    compile_source,
    headers_with_instructions,
    library,
)

pytestmark = pytest.mark.skipif(
    library() is None,
    reason="NVRTC is not installed: pip install nvidia-cuda-nvrtc, or name libnvrtc in MINDTORCH_NVRTC",
)

FLOATING = ("float", "double", "Half", "BFloat16")
HALVES = ("Half", "BFloat16")
INTEGERS = ("uint8_t", "int8_t", "int16_t", "int32_t", "int64_t")
COMPLEX = ("complex64", "complex128")
NUMBERS = (*FLOATING, *INTEGERS, *COMPLEX, "bool")
WIDE_UNSIGNED = ("uint16_t", "uint32_t", "uint64_t")
UNITS = ("uint8_t", "uint16_t", "uint32_t", "uint64_t", "Several<uint64_t, 2>")  # an element's bytes


def softmax():
    for log in ("false", "true"):
        for t in FLOATING:
            for name, types, forms in (
                ("rows", f"{t}, {t}, {log}", ("",)),
                ("columns", f"{t}, {t}, {log}", ("",)),
                ("lanes", f"{t}, {t}, {log}", (", 4",)),
            ):
                for form in forms:
                    yield f"softmax_{name}<{types}{form}>", "SoftmaxCall"
                    yield f"softmax_{name}_backward<{t}, {types}{form}>", "SoftmaxCall"
        for t in HALVES:
            yield f"softmax_rows<{t}, float, {log}>", "SoftmaxCall"
            yield f"softmax_lanes<{t}, float, {log}, 32>", "SoftmaxCall"
            yield f"softmax_rows_backward<float, float, {t}, {log}>", "SoftmaxCall"
            yield f"softmax_columns_backward<float, float, {t}, {log}>", "SoftmaxCall"
            yield f"softmax_lanes_backward<float, float, {t}, {log}, 8>", "SoftmaxCall"


def normalization():
    pairs = [(t, t) for t in FLOATING] + [(t, "float") for t in HALVES]  # elements, parameters and statistics
    for t, w in pairs:
        for centered in ("true", "false"):
            yield f"row_norm<{t}, {w}, {w}, {centered}, 0>", "RowNormCall"
            yield f"row_norm<{t}, {w}, {w}, {centered}, 4>", "RowNormCall"
            yield f"row_norm_backward<{t}, {w}, {w}, {centered}, 0>", "RowNormCall"
            yield f"row_norm_backward<{t}, {w}, {w}, {centered}, 8>", "RowNormCall"
            yield f"row_norm_backward_parts<{t}, {w}, {centered}>", "RowNormCall"
        yield f"parts_added<compute_t<{t}>, {w}>", "PartsCall"
        for kept in (1, 2):
            yield f"row_norm<{t}, {t}, {w}, true, {kept}>", "RowNormCall"
        yield f"row_statistics<{t}, {w}>", "RowNormCall"
        yield f"plane_sums<{t}>", "GroupNormCall"
        for name in ("applied", "coefficients", "backward_input", "backward_parameters"):
            yield f"group_norm_{name}<{t}, {w}, {w}>", "GroupNormCall"
        for inside in ("true", "false"):
            yield f"channel_moments<{t}, {inside}>", "ChannelNormCall"
            yield f"channel_products<{t}, {w}, {inside}>", "ChannelNormCall"
        for name in ("statistics", "applied", "totals", "backward_input"):
            yield f"channel_{name}<{t}, {w}, {w}>", "ChannelNormCall"


def index():
    for v in UNITS:
        yield f"gathered<{v}>", "LookupCall"
        yield f"scattered<{v}>", "LookupCall"
        yield f"rows_gathered<{v}>", "RowsCall"
    for t in NUMBERS:
        for how in ("add", "multiply", "min", "max")[
            : 1 if t == "complex128" else 2 if t == "complex64" else 4
        ]:
            yield f"combined<{t}, Combined::{how}>", "LookupCall"
        yield f"meetings_added<{t}>", "MeetingCall"
    for t in WIDE_UNSIGNED:
        for how in ("add", "multiply", "min", "max"):
            yield f"combined<{t}, Combined::{how}>", "LookupCall"
    for t in (*NUMBERS, *WIDE_UNSIGNED):
        yield f"nonzero_counted<{t}>", "NonzeroCall"
        yield f"nonzero_written<{t}>", "NonzeroCall"
    yield "offsets_added", "LookupCall"
    yield "counts_scanned", "NonzeroCall"
    yield "runs_found", "RunsCall"


def copy():
    for v in UNITS:
        yield f"moved<{v}>", "ShapeCall"
        yield f"triangle<{v}>", "ShapeCall"
        yield f"joined<{v}>", "JoinCall"
        yield f"image_to_columns<{v}>", "ColumnsCall"
        for mode in ("constant", "reflect", "replicate", "circular"):
            yield f"padded<{v}, Padding::{mode}>", "PadCall"
    for t in NUMBERS:
        if t != "bool":
            yield f"counted<{t}>", "CountCall"
            yield f"spaced<{t}>", "CountCall"
            yield f"columns_to_image<{t}>", "ColumnsCall"
        yield f"added_into<{t}>", "ShapeCall"
    for t in WIDE_UNSIGNED:
        yield f"counted<{t}>", "CountCall"
    for t in (*FLOATING, *COMPLEX):
        for mode in ("reflect", "replicate", "circular"):
            yield f"padded_backward<{t}, Padding::{mode}>", "PadCall"
    for t in ("int32_t", "int64_t"):
        yield f"triangle_places<{t}>", "TriangleIndicesCall"


def loss():
    kinds = ("square", "absolute", "smooth_absolute", "huber", "cross_entropy", "logit_entropy", "divergence")
    kinds += ("log_divergence", "soft_margin", "hinge_embedding", "hinge")
    for t in FLOATING:
        for kind in kinds:
            yield f"loss_each<{t}, PointwiseLoss::{kind}>", "LossCall"
            yield f"loss_folded<{t}, PointwiseLoss::{kind}>", "LossCall"
            yield f"loss_backward<{t}, PointwiseLoss::{kind}, false>", "LossCall"
        for kind in ("logit_entropy", "divergence", "log_divergence"):
            yield f"loss_backward<{t}, PointwiseLoss::{kind}, true>", "LossCall"
        yield f"loss_finished<{t}>", "LossCall"
        for name in ("each", "folded", "finished", "backward"):
            yield f"nll_{name}<{t}>", "NllCall"


def ctc():
    for t in ("float", "double"):
        yield f"ctc_summed<{t}>", "CtcCall"
        yield f"ctc_backward<{t}>", "CtcCall"


def region():
    for t in FLOATING:
        yield f"region_averaged<{t}>", "RegionCall"
        yield f"region_spread<{t}>", "RegionCall"


def random():
    for t in FLOATING:
        for what in ("uniform", "normal", "log_normal", "exponential", "cauchy"):
            yield f"random_filled<{t}, Drawn::{what}>", "RandomCall"
        yield f"dropped<{t}>", "DropoutCall"
        yield f"dropped_apart<{t}>", "DropoutCall"
    for t in (*FLOATING, *INTEGERS, "bool"):
        for what in ("chance", "geometric", "in_range", "in_wide_range", "any_number"):
            yield f"random_filled<{t}, Drawn::{what}>", "RandomCall"
        yield f"random_filled<{t}, Drawn::any_bits>", "RandomCall"
        yield f"chances_drawn<{t}>", "ChancesCall"


def cumulative():
    def each(t, out, op, reverse):
        yield f"running_rows<{t}, {out}, {op}, {reverse}>", "RunningCall"
        yield f"running_folded<{t}, {op}, {reverse}>", "RunningCall"
        yield f"running_carried<{t}, {op}>", "RunningCall"
        yield f"running_columns<{t}, {out}, {op}, {reverse}>", "RunningCall"

    for t in NUMBERS:
        whole = t in (*INTEGERS, "bool")
        out = wide = "int64_t" if whole else t
        wide = "int64_t" if whole else f"compute_t<{t}>"
        yield from each(t, out, f"RunningSum<{wide}>", "false")
        yield from each(t, out, f"RunningProduct<{wide}>", "false")
        if whole:  # results of the same dtype, and from the end
            yield from each(t, t, f"RunningSum<{t}>", "false")
            yield from each(t, t, f"RunningSum<{t}>", "true")
            yield from each(t, t, f"RunningProduct<{t}>", "false")
        if not whole:
            yield from each(t, t, f"RunningSum<{wide}>", "true")
            yield from each(t, t, f"RunningLogSumExp<{wide}>", "false")
            yield from each(t, t, f"RunningLogSumExp<{wide}>", "true")
        if t not in COMPLEX:
            for largest in ("true", "false"):
                yield from each(t, t, f"RunningExtreme<compute_t<{t}>, {largest}>", "false")


def spreads():
    for t in FLOATING:
        for root in ("true", "false"):
            for name in ("rows", "columns", "whole", "parts"):
                body = f"Reduce<spread_op<{root}>, {t}, kernels::compute_t<{t}>, {t}>::{name}"
                yield body, "ReduceCall"


def optimizer():
    pairs = [(t, t) for t in FLOATING] + [("float", t) for t in HALVES]
    for t, g in pairs:
        for largest in ("true", "false"):
            for decoupled in ("true", "false"):
                yield f"adam_stepped<{t}, {g}, {largest}, {decoupled}>", "StepCall"
            yield f"sgd_stepped<{t}, {g}, {largest}>", "StepCall"
        yield f"adagrad_stepped<{t}, {g}>", "StepCall"
    for t in FLOATING:
        yield f"unscaled<{t}>", "UnscaleCall"
        yield f"listed<kernels::sqrt_op, {t}, 1>", "ListedCall"
        yield f"listed<kernels::add_op, {t}, 2>", "ListedCall"
        yield f"listed<kernels::addcdiv_op, {t}, 3>", "ListedCall"
    yield "scale_updated", "ScaleCall"


def pool():
    for t in (*FLOATING, *INTEGERS):
        yield f"max_pooled<{t}>", "PoolCall"
        yield f"plane_scattered<{t}, true>", "PoolCall"
        yield f"plane_scattered<{t}, false>", "PoolCall"
    for t in (*FLOATING, *INTEGERS):
        yield f"avg_pooled<{t}>", "PoolCall"
    for t in FLOATING:
        yield f"avg_pooled_backward<{t}>", "PoolCall"
    for v in UNITS:
        yield f"plane_gathered<{v}>", "PoolCall"


def resample():
    yield "taps_made", "TapsCall"
    for t in FLOATING:
        yield f"taps_transposed<{t}>", "TapsCall"
        yield f"grid_sampled<{t}>", "GridCall"
        yield f"grid_sampled_backward<{t}>", "GridCall"
    for t in (*FLOATING, "uint8_t", "int64_t"):
        yield f"taps_applied<{t}>", "TapsCall"


def sort():
    for t in (*FLOATING, *INTEGERS, "bool", "uint16_t", "uint32_t", "uint64_t"):
        yield f"keys_made<{t}, true>", "SortCall"
        yield f"keys_made<{t}, false>", "SortCall"
        yield f"rows_chosen<{t}, true>", "SortCall"
        yield f"rows_chosen<{t}, false>", "SortCall"
        yield f"sorted_taken<{t}>", "SortCall"
        yield f"mode_found<{t}>", "SortCall"
        for ignores in ("true", "false"):
            yield f"median_taken<{t}, {ignores}>", "SortCall"
        yield f"searched<{t}, int64_t>", "SearchCall"
        yield f"searched<{t}, int32_t>", "SearchCall"
    for k in UNITS[:4]:
        yield f"rows_sorted<{k}>", "SortCall"
        yield f"digits_counted<{k}>", "SortCall"
        yield f"digits_moved<{k}>", "SortCall"
    yield "digits_scanned", "SortCall"


def distance():
    for t in ("float", "double"):
        for norm in ("zero", "one", "two", "infinite", "general"):
            for name in ("rows", "pairs"):
                yield f"{name}_apart<{t}, Norm::{norm}>", "DistanceCall"
                yield f"{name}_apart_backward<{t}, Norm::{norm}>", "DistanceCall"


def eigenvectors():
    for t in ("float", "double"):
        yield f"eigenvectors_unpacked<{t}>", "EigenvectorsCall"


def attention():
    for t in ("float", *HALVES):
        for dim in (32, 64, 128) if t == "float" else (64, 128):
            for masked in ("false", "true"):
                yield f"attention_forward<{t}, {dim}, {masked}>", "AttentionCall"
                yield f"attention_backward<{t}, {dim}, {masked}, true>", "AttentionCall"
                yield f"attention_backward<{t}, {dim}, {masked}, false>", "AttentionCall"
        yield f"attention_prepared<{t}>", "AttentionCall"


def extreme():
    for t in (*FLOATING, *INTEGERS, *WIDE_UNSIGNED, "bool"):
        for largest in ("true", "false"):
            for lines in ("rows", "joined", "columns"):
                yield f"extreme_{lines}<{t}, {largest}>", "RunningCall"


def reduce():
    yield from spreads()
    computed = {"Half": "float", "BFloat16": "float"}
    functors = [f"kernels::norm_{which}_op" for which in ("zero", "one", "two", "max", "min")]
    for t in (*FLOATING, *COMPLEX):
        real = {"complex64": "float", "complex128": "double"}.get(t, t)
        for functor in functors if t in COMPLEX else (*functors, "log_sum_exp_op"):
            for entry in ("rows", "columns", "whole", "parts"):
                yield f"Reduce<{functor}, {real}, {computed.get(t, t)}, {t}>::{entry}", "ReduceCall"
    for entry in ("rows", "columns", "whole", "parts"):
        yield f"Reduce<kernels::xor_op, int64_t, int64_t, int64_t>::{entry}", "ReduceCall"


def elementwise():
    narrow = ("Float8E4M3", "Float8E5M2", "Float8E4M3Nuz", "Float8E5M2Nuz", "Float8E8M0")
    computed = {"Half": "float", "BFloat16": "float", "ComplexHalf": "complex64"} | dict.fromkeys(
        narrow, "float"
    )
    for t in (*NUMBERS, *WIDE_UNSIGNED, *narrow, "ComplexHalf"):
        for condition in ("bool", "uint8_t"):
            types = f"where_op, {t}, {computed.get(t, t)}, {condition}, {t}, {t}"
            yield f"Elementwise<{types}>::dense", "DenseCall"
            yield f"Elementwise<{types}>::strided<unsigned>", "StridedCall"


FAMILIES = (
    elementwise,
    reduce,
    extreme,
    copy,
    softmax,
    normalization,
    index,
    loss,
    random,
    cumulative,
    optimizer,
)
FAMILIES += (pool, resample, sort, distance, ctc, region, eigenvectors, attention)


def source_of(family):
    """A program with every kernel of the family."""
    source = f'#include "backends/cuda/device/{family.__name__}.h"\nusing namespace mt;\nusing namespace mt::cuda;\n'
    for number, (body, call) in enumerate(family()):
        source += f'extern "C" __global__ void kernel_{number}(const __grid_constant__ {call} call) '
        source += f"{{ {body}(call); }}\n"
    return source


@pytest.mark.timeout(400)  # a loaded machine
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_every_kernel_of_the_family_compiles(family):
    source = source_of(family)
    assembly = assembly_of(source)
    assert all(f".entry kernel_{number}(" in assembly for number in range(source.count("__global__")))
    if headers_with_instructions(source) - headers_with_instructions(source_of(region)):
        assert compile_source(source, OLDEST, QUICKLY)


def test_too_much_shared_memory_is_told():
    kernel = 'extern "C" __global__ void large(int* out) { __shared__ int kept[%d]; '
    kernel += "kept[threadIdx.x] = 1; *out = kept[0]; }"
    assert assembly_of(kernel % (12 * 1024))
    with pytest.raises(AssertionError, match="large has 49156 bytes of shared memory"):
        assembly_of(kernel % (12 * 1024 + 1))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_are_compiled_for_every_architecture(architecture):
    """Also that the assembler takes the instructions of halves, which every family includes."""
    for family in (region, eigenvectors):
        assert compile_source(source_of(family), architecture, QUICKLY)
