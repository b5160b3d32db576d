"""What CUDA's device kernels compute, run by threads of the host: the same numbers as PyTorch's."""

import math

import pytest
import torch
import torch.nn.functional as F
from device_kernels_on_host import call_of, places, run, walk, with_gradient
from torch.testing import assert_close


@pytest.fixture(autouse=True)
def same_numbers_each_time():
    torch.manual_seed(0)


def near(made, expected, tolerance=1e-4):
    assert_close(made, expected, rtol=tolerance, atol=tolerance, equal_nan=True, check_stride=False)


def test_softmax_of_rows_lanes_and_columns_is_pytorchs():
    x = torch.randn(5, 101)
    x[2, 3] = x[1] = float("-inf")
    out = torch.empty_like(x)
    call = call_of("SoftmaxCall", in_=x, out=out, outer=5, length=101, inner=1)
    for kernel, block in (("rows", (64, 1)), ("lanes", (32, 2))):
        run(f"run_softmax_{kernel}", call, (3, 1), block)
        near(out, x.softmax(1))
    run("run_log_softmax_rows", call, (3, 1))
    near(out, x.log_softmax(1))
    x = torch.randn(5, 128)  # in groups
    x[2, 3], x[1], x[3, 100] = float("-inf"), float("-inf"), float("nan")
    out = torch.empty_like(x)
    call = call_of("SoftmaxCall", in_=x, out=out, outer=5, length=128, inner=1)
    for kernel, block in (("rows", (64, 1)), ("lanes", (32, 2))):
        run(f"run_softmax_{kernel}", call, (2, 1), block)
        near(out, x.softmax(1))
    x = torch.randn(3, 17, 40)
    out = torch.empty_like(x)
    run(
        "run_softmax_columns",
        call_of("SoftmaxCall", in_=x, out=out, outer=3, length=17, inner=40),
        (4, 1),
        (32, 8),
    )
    near(out, x.softmax(1))


@pytest.mark.parametrize(
    ("kernel", "shape", "log", "block"),
    [
        ("run_softmax_rows_backward", (5, 101, 1), False, (64, 1)),
        ("run_softmax_rows_backward", (5, 128, 1), False, (64, 1)),
        ("run_log_softmax_lanes_backward", (5, 101, 1), True, (32, 2)),
        ("run_log_softmax_lanes_backward", (5, 128, 1), True, (32, 2)),
        ("run_log_softmax_columns_backward", (3, 17, 40), True, (32, 8)),
    ],
)
def test_gradients_of_softmax_are_pytorchs(kernel, shape, log, block):
    gradient, out = torch.randn(shape), torch.empty(shape)
    made, (expected,) = with_gradient(
        lambda x: x.log_softmax(1) if log else x.softmax(1), gradient, torch.randn(shape)
    )
    sizes = dict(zip(("outer", "length", "inner"), shape, strict=True))
    run(kernel, call_of("SoftmaxCall", in_=gradient, made=made, out=out, **sizes), (4, 1), block)
    near(out, expected)


@pytest.mark.parametrize(
    ("kept", "length", "block"),
    [("0", 77, (64, 1)), ("4", 512, (64, 1)), ("4", 512, (32, 4)), ("4", 77, (32, 2))],
)
def test_layer_norm_and_its_gradients_are_pytorchs(kept, length, block):
    x, gradient, weight, bias = (
        torch.randn(6, length),
        torch.randn(6, length),
        torch.randn(length),
        torch.randn(length),
    )
    out, mean, rstd = torch.empty_like(x), torch.empty(6), torch.empty(6)
    expected, (to_x, to_weight, to_bias) = with_gradient(
        lambda *given: F.layer_norm(given[0], (length,), *given[1:]), gradient, x, weight, bias
    )
    given = {"in_": x, "mean": mean, "rstd": rstd, "rows": 6, "length": length, "eps": 1e-5}
    forward = call_of("RowNormCall", weight=weight, bias=bias, out=out, **given)
    run(f"row_norm_{kept}", forward, (6, 1), block)
    near(out, expected)
    backward = call_of("RowNormCall", gradient=gradient, weight=weight, out=out, **given)
    run("row_norm_b" + kept.strip("0"), backward, (4, 1), block)
    near(out, to_x)
    parts = torch.empty(2, 2, length)
    sums = call_of("RowNormCall", gradient=gradient, weight_parts=parts[0], bias_parts=parts[1], **given)
    run("row_norm_p", sums, (-(-length // 32), 2), (32, 8))
    for part, wanted in ((parts[0], to_weight), (parts[1], to_bias)):
        made = torch.empty(length)
        run("parts_a", call_of("PartsCall", parts=part, out=made, count=length, number=2), (2, 1))
        near(made, wanted)


def test_group_norm_and_its_gradients_are_pytorchs():
    batch, channels, space, groups = 3, 8, 35, 4
    x, gradient, weight, bias = torch.randn(3, 8, 35), torch.randn(3, 8, 35), torch.randn(8), torch.randn(8)
    out, mean, rstd = torch.empty_like(x), torch.empty(12), torch.empty(12)
    room = {
        name: torch.empty(24)
        for name in ("sums", "products", "by_input", "constant", "grad_weight", "grad_bias")
    }
    expected, (to_x, to_weight, to_bias) = with_gradient(
        lambda *given: F.group_norm(given[0], groups, *given[1:]), gradient, x, weight, bias
    )
    run(
        "row_stats", call_of("RowNormCall", in_=x, mean=mean, rstd=rstd, rows=12, length=70, eps=1e-5), (5, 1)
    )
    sizes = {"batch": batch, "channels": channels, "space": space, "groups": groups}
    given = {"in_": x, "gradient": gradient, "weight": weight, "bias": bias, "mean": mean, "rstd": rstd}
    call = call_of("GroupNormCall", out=out, **given, **room, **sizes)
    run("gn_applied", call, (2, 1))
    near(out, expected)
    for kernel in ("gn_sums", "gn_coef", "gn_bin", "gn_bp"):
        run(kernel, call, (2, 1))
    near(out, to_x)
    near(room["grad_weight"][:8], to_weight)
    near(room["grad_bias"][:8], to_bias)


@pytest.mark.parametrize("inside", [False, True])
def test_batch_norm_and_its_gradients_are_pytorchs_whichever_way_channels_lie(inside):
    x, gradient = torch.randn(4, 40, 9), torch.randn(4, 40, 9)
    if inside:
        x, gradient = (t.permute(0, 2, 1).contiguous().permute(0, 2, 1) for t in (x, gradient))
    weight, bias, mean, variance = torch.randn(40), torch.randn(40), torch.randn(40), torch.rand(40) + 0.5
    kept_mean, kept_variance = mean.clone(), variance.clone()
    expected, (to_x, to_weight, to_bias) = with_gradient(
        lambda *g: F.batch_norm(g[0], kept_mean, kept_variance, *g[1:], training=True),
        gradient,
        x,
        weight,
        bias,
    )
    out = torch.empty_strided(x.shape, x.stride())
    room = {name: torch.empty(40) for name in ("mean", "spread", "grad_weight", "grad_bias")}
    room |= {"parts": torch.empty(40 * 9), "totals": torch.empty(80)}
    strides = dict(zip(("batch_stride", "channel_stride", "space_stride"), x.stride(), strict=True))
    call = call_of(
        "ChannelNormCall", in_=x, gradient=gradient, weight=weight, bias=bias, out=out, running_mean=mean,
        running_var=variance, batch=4, channels=40, space=9, number=3, training=1, momentum=0.1, eps=1e-5,
        **strides, **room,
    )  # fmt: skip
    grid, block, way = ((2, 3), (32, 8), "i") if inside else ((40, 3), (64, 1), "o")
    run(f"ch_mom_{way}", call, grid, block)
    run("ch_stat", call)
    run("ch_app", call, (3, 1))
    for made, wanted in ((out, expected), (mean, kept_mean), (variance, kept_variance)):
        near(made, wanted)
    run(f"ch_prod_{way}", call, grid, block)
    run("ch_tot", call)
    run("ch_bin", call, (3, 1))
    for made, wanted in ((out, to_x), (room["grad_weight"], to_weight), (room["grad_bias"], to_bias)):
        near(made, wanted)


def test_running_sums_and_extremes_are_pytorchs():
    x = torch.randn(3, 2500)
    out, carries = torch.empty_like(x), torch.empty(9)
    sizes = {"outer": 3, "length": 2500, "inner": 1}
    run("run_sum", call_of("RunningCall", in_=x, out=out, part=2500, **sizes), (3, 1))
    near(out, x.cumsum(1))
    out.zero_()
    call = call_of("RunningCall", in_=x, out=out, carries=carries, part=1024, **sizes)
    for kernel, grid in (("run_fold", (3, 3)), ("run_carry", (1, 1)), ("run_sum", (3, 3))):
        run(kernel, call, grid)
    near(out, x.cumsum(1))
    run("run_rsum", call_of("RunningCall", in_=x, out=out, part=2500, **sizes), (3, 1))
    near(out, x.flip(1).cumsum(1).flip(1))
    x = torch.randint(-50, 50, (3, 700)).float()
    x[1, 300] = float("nan")
    out, at = torch.empty_like(x), torch.empty(3, 700, dtype=torch.int64)
    run(
        "run_max",
        call_of("RunningCall", in_=x, out=out, places=at, outer=3, length=700, inner=1, part=700),
        (3, 1),
    )
    near(out, x.cummax(1).values)
    near(at, x.cummax(1).indices)
    x = torch.randn(2, 30, 7)
    out = torch.empty_like(x)
    run("run_lse", call_of("RunningCall", in_=x, out=out, outer=2, length=30, inner=7))
    near(out, x.logcumsumexp(1))


def sorted_by_kernels(x, descending):
    rows, length = x.shape
    tiles = -(-length // 2048)
    keys, order = (
        torch.empty(2, rows, length, dtype=torch.int32),
        torch.empty(2, rows, length, dtype=torch.int32),
    )
    values, indices = torch.empty_like(x), torch.empty(rows, length, dtype=torch.int64)
    counts = torch.zeros(rows * 16 * tiles, dtype=torch.int32)
    call = call_of(
        "SortCall", in_=x, keys=keys[0], other_keys=keys[1], order=order[0], other_order=order[1], counts=counts,
        values=values, indices=indices, rows=rows, length=length, taken=length, tiles=tiles, source=length,
    )  # fmt: skip
    run("keys_d" if descending else "keys_a", call, (2, 1))
    if length <= 2048:
        run("rows_s", call, (2, 1))
    else:
        for call.shift in range(0, 32, 4):
            run("dig_c", call, (tiles, rows), (256, 1))
            run("dig_s", call, (rows, 1), (256, 1))
            run("dig_m", call, (tiles, rows), (256, 1))
            call.keys, call.other_keys, call.order, call.other_order = (
                call.other_keys, call.keys, call.other_order, call.order,
            )  # fmt: skip
    run("taken", call, (2, 1))
    return values, indices


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("length", [100, 1500, 5000])
def test_sorting_is_stable_and_puts_nan_where_pytorch_does(length, descending):
    x = torch.randint(-99, 99, (2, length)).float()
    x[0, 5], x[1, 7] = float("nan"), -0.0
    values, indices = sorted_by_kernels(x, descending)
    expected = torch.sort(x, dim=1, descending=descending, stable=True)
    near(values, expected.values)
    near(indices, expected.indices)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("chosen", [1, 37, 700])
def test_the_first_of_long_rows_are_those_of_the_sorted_rows(chosen, descending):
    x = torch.randn(3, 2500)
    x[0] = torch.randint(-3, 3, (2500,)).float()  # many equals
    x[1, 5], x[1, 7], x[2, ::2] = float("nan"), -0.0, 1.0
    keys, order = (torch.empty(3, chosen, dtype=torch.int32) for _ in range(2))
    values, indices = torch.empty(3, chosen), torch.empty(3, chosen, dtype=torch.int64)
    sizes = {"rows": 3, "length": chosen, "taken": chosen, "source": 2500}
    call = call_of("SortCall", in_=x, keys=keys, order=order, values=values, indices=indices, **sizes)
    for kernel in ("chosen_d" if descending else "chosen_a", "rows_s", "taken"):
        run(kernel, call, (2, 1))
    expected = torch.sort(x, dim=1, descending=descending, stable=True)
    near(values, expected.values[:, :chosen])
    near(indices, expected.indices[:, :chosen])


def test_random_numbers_are_philoxs():
    out = torch.empty(256, dtype=torch.int64)
    run("rnd_i", call_of("RandomCall", walk=walk([256]), out=places(out), range=1 << 27))
    known = torch.tensor([0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8])  # the first four of seed 0
    near(out[::64], known % (1 << 27))


def test_reading_and_adding_through_indices_is_pytorchs():
    table, index, source = torch.randn(6, 5), torch.randint(0, 6, (4, 5)), torch.randn(4, 5)
    out = torch.empty(4, 5)
    given = {"walk": walk([4, 5]), "index": places(index), "size": 6, "stride": 5}
    run("gath", call_of("LookupCall", other=places(out), table=places(table, (0, 1)), **given))
    near(out, table.gather(0, index))
    for kernel, dtype in (("scat_add", torch.float32), ("scat_add_h", torch.float16)):
        made, added = table.to(dtype), source.to(dtype)
        expected = made.scatter_add(0, index, added)
        made = made.clone()
        run(kernel, call_of("LookupCall", other=places(added), table=places(made, (0, 1)), **given))
        near(made, expected, 1e-4 if dtype == torch.float32 else 1e-2)
    old, new = (torch.randint(-9, 9, shape).to(torch.int8) for shape in ((6, 5), (4, 5)))
    expected = old.scatter_reduce(0, index, new, "amax")
    run("scat_max", call_of("LookupCall", other=places(new), table=places(old, (0, 1)), **given))
    near(old, expected)


def test_nonzero_and_runs_are_pytorchs():
    x = (torch.rand(100, 123) > 0.7).float()
    blocks, expected = -(-x.numel() // 4096), x.nonzero().contiguous()
    counts, out = torch.empty(blocks + 1, dtype=torch.int64), torch.empty_like(expected)
    call = call_of("NonzeroCall", in_=x, counts=counts, out=out, count=x.numel(), dims=2, sizes=(100, 123))
    run("nz_c", call, (blocks, 1), (256, 1))
    call.limit = blocks
    run("nz_s", call)
    call.limit = len(expected)
    run("nz_w", call, (blocks, 1), (256, 1))
    near(out, expected)
    assert counts[-1] == len(expected)
    repeats, out = torch.tensor([2, 0, 3, 1]), torch.empty(6, dtype=torch.int64)
    run("runs", call_of("RunsCall", ends=repeats.cumsum(0), out=out, runs=4, count=6))
    near(out, torch.arange(4).repeat_interleave(repeats))


@pytest.mark.parametrize(
    ("rows", "columns", "offset"), [(4, 6, 0), (4, 6, -2), (4, 6, 3), (6, 3, 1), (3, 5, 9)]
)
@pytest.mark.parametrize("upper", [False, True])
def test_triangles_and_their_indices_are_pytorchs(rows, columns, offset, upper):
    expected = (torch.triu_indices if upper else torch.tril_indices)(rows, columns, offset)
    made = torch.empty_like(expected)
    sizes = {"rows": rows, "columns": columns, "offset": offset, "upper": upper}
    run("tri_i", call_of("TriangleIndicesCall", out=made, count=expected.shape[1], **sizes))
    near(made, expected)
    x = torch.randn(2, rows, columns)
    out = torch.empty_like(x)
    call = call_of(
        "ShapeCall", walk=walk(x.shape), in_=places(x), out=places(out), diagonal=offset, keep_upper=upper
    )
    run("tri", call)
    near(out, x.triu(offset) if upper else x.tril(offset))


def test_padding_joins_and_windows_are_pytorchs():
    x = torch.randn(2, 5, 6)
    expected, (to_x,) = with_gradient(lambda t: F.pad(t, (2, 3, 1, 2), "reflect"), torch.ones_like, x)
    out, grad, gradient = torch.empty_like(expected), torch.zeros_like(x), torch.ones_like(expected)
    given = {"walk": walk(expected.shape), "in_sizes": (6, 5, 2), "before": (2, 1, 0)}
    run("padr", call_of("PadCall", in_=places(x), out=places(out), **given))
    near(out, expected)
    run("padrb", call_of("PadCall", in_=places(grad), out=places(gradient), **given))
    near(grad, to_x)
    parts, out = [torch.randn(3, n) for n in (2, 0, 4)], torch.empty(3, 6)
    run("join", call_of("JoinCall", in_=parts, starts=(0, 2, 2, 6), out=out, outer=3, number=3))
    near(out, torch.cat(parts, 1))
    x, window = torch.randn(1, 3, 8, 9), {"dilation": (2, 1), "padding": (1, 1), "stride": (2, 1)}
    expected = F.unfold(x, (3, 2), **window)
    out, image = torch.empty_like(expected), torch.empty_like(x)
    shape = {"planes": 3, "size": (8, 9), "kernel": (3, 2), "places": (3, 10), **window}
    run("i2c", call_of("ColumnsCall", image=x, columns=out, **shape))
    near(out, expected)
    run("c2i", call_of("ColumnsCall", image=image, columns=out, **shape))
    near(image, F.fold(expected, (8, 9), (3, 2), **window))


def test_losses_are_pytorchs():
    x, target, parts, out = torch.randn(300), torch.randn(300), torch.empty(3), torch.empty(())
    given = {"parts": parts, "beta": 0.7, "scale": 1 / 300}
    run("lossf", call_of("LossCall", walk=walk([300]), in_=places(x), target=places(target), **given), (3, 1))
    run("losse", call_of("LossCall", walk=walk([3]), out=places(out), **given))
    near(out, F.huber_loss(x, target, delta=0.7))


def test_the_entropy_of_weighted_scores_and_its_gradient_are_pytorchs():
    x, target, weight, yes = torch.randn(30, 7), torch.rand(30, 7), torch.rand(30, 1), torch.rand(7)
    expected, (to_x,) = with_gradient(
        lambda x: F.binary_cross_entropy_with_logits(x, target, weight, pos_weight=yes), torch.ones_like, x
    )
    parts, out, made, one = torch.empty(2), torch.empty(()), torch.empty_like(x), torch.ones(())
    names = {"in_": x, "target": target, "weight": weight, "pos_weight": yes, "gradient": one, "out": made}
    tensors = {name: places(tensor.expand(30, 7)) for name, tensor in names.items()}
    given = {"parts": parts, "beta": 1.0, "scale": 1 / 210}
    run("bcef", call_of("LossCall", walk=walk([30, 7]), **tensors, **given), (2, 1))
    run("losse", call_of("LossCall", walk=walk([2]), **given | {"out": places(out)}))
    near(out, expected)
    run("bceb", call_of("LossCall", walk=walk([30, 7]), **tensors, **given), (2, 1))
    near(made, to_x)


def test_real_columns_become_complex_eigenvectors():
    a = torch.stack(
        [torch.tensor([[0.0, -2, 0], [2, 0, 0], [0, 0, 3]]), torch.randn(3, 3), torch.randn(3, 3)]
    )
    values, vectors = torch.linalg.eig(a)
    columns = vectors.mT.contiguous()
    packed = columns.real.clone()
    second = (values.imag < 0).nonzero().tolist()
    for matrix, column in second:
        packed[matrix, column] = columns[matrix, column - 1].imag
    assert second
    made = torch.empty_like(columns)
    run(
        "eigv",
        call_of("EigenvectorsCall", values=values, packed=packed, out=made, matrices=3, size=3),
        (2, 1),
    )
    near(made, columns)


@pytest.mark.parametrize("shape", [(50, 7), (5, 7, 2, 5)])
def test_likelihoods_of_classes_are_pytorchs(shape):
    scores, weight, out, total = (
        torch.randn(shape).log_softmax(1),
        torch.rand(7),
        torch.empty(()),
        torch.empty(()),
    )
    classes = torch.randint(0, 7, (shape[0], *shape[2:]))
    classes.view(-1)[3] = -100
    expected, (to_scores,) = with_gradient(lambda s: F.nll_loss(s, classes, weight), torch.ones_like, scores)
    given = {"scores": scores, "target": classes, "weight": weight, "total_weight": total}
    given |= {"samples": 50, "classes": 7, "places": 50 // shape[0], "ignored": -100, "reduction": 1}
    run("nllf", call_of("NllCall", out=out, **given))
    near(out, expected)
    parts = torch.empty(3, 2)
    run("nllf", call_of("NllCall", parts=parts, **given), (3, 1), (32, 1))
    out.fill_(0)
    run("nlld", call_of("NllCall", parts=parts, blocks=3, out=out, **given), (1, 1))
    near(out, expected)
    made = torch.zeros_like(scores)
    run("nllb", call_of("NllCall", out=made, gradient=torch.ones(()), **given))
    near(made, to_scores)


@pytest.mark.parametrize("count_padding", [False, True])
@pytest.mark.parametrize("divisor", [None, 5])
def test_pooling_and_its_gradients_are_pytorchs(count_padding, divisor):
    x = torch.randn(2, 9, 10)
    expected, at = F.max_pool2d(x, (3, 2), 2, 1, (1, 2), return_indices=True, ceil_mode=True)
    out, places_of = torch.empty_like(expected), torch.empty_like(at)
    window = {
        "kernel": (1, 3, 2),
        "stride": (1, 2, 2),
        "padding": (0, 1, 1),
        "planes": 2,
        "in_size": (1, 9, 10),
    }
    sizes = (1, *expected.shape[1:])
    run(
        "maxp",
        call_of("PoolCall", in_=x, out=out, indices=places_of, out_size=sizes, dilation=(1, 1, 2), **window),
    )
    near(out, expected)
    near(places_of, at)
    expected, (to_x,) = with_gradient(
        lambda t: F.avg_pool2d(t, (3, 2), 2, 1, True, count_padding, divisor), torch.ones_like, x
    )
    out, grad, gradient = torch.empty_like(expected), torch.empty_like(x), torch.ones_like(expected)
    window |= {"dilation": (1, 1, 1), "count_padding": count_padding, "divisor": divisor or 0}
    window["out_size"] = (1, *expected.shape[1:])
    run("avgp", call_of("PoolCall", in_=x, out=out, **window))
    near(out, expected)
    run("avgpb", call_of("PoolCall", gradient=gradient, out=grad, **window))
    near(grad, to_x)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_sampling_at_a_grid_and_its_gradients_are_pytorchs(mode, padding):
    x, grid = torch.randn(2, 3, 5, 6), torch.rand(2, 4, 3, 2) * 2.6 - 1.3
    expected, (to_x, to_grid) = with_gradient(
        lambda *g: F.grid_sample(*g, mode, padding, False), torch.ones_like, x, grid
    )
    out, grad, grad_grid = torch.empty_like(expected), torch.zeros_like(x), torch.empty_like(grid)
    given = {"in_": x, "grid": grid, "batch": 2, "channels": 3, "sizes": (5, 6), "positions": 12, "dims": 2}
    given["mode"] = ("bilinear", "nearest", "bicubic").index(mode)
    given["padding"] = ("zeros", "border", "reflection").index(padding)
    run("grid_s", call_of("GridCall", out=out, **given))
    near(out, expected)
    gradient = torch.ones_like(out)
    run("grid_b", call_of("GridCall", gradient=gradient, grad_in=grad, grad_grid=grad_grid, **given))
    near(grad, to_x)
    near(grad_grid, to_grid, 1e-3)


def test_steps_of_optimizers_over_lists_are_pytorchs():
    parameters, gradients = [torch.randn(5000), torch.randn(70)], [torch.randn(5000), torch.randn(70)]

    def lists(*columns):
        call = call_of("ListCall", counts=(5000, 70), chunks=(0, 2, 3), number=2)
        for k in range(2):
            for i, column in enumerate(columns):
                call.data[k][i] = column[k].data_ptr()
        return call

    def check(make, kernel, states, **options):
        leaves = [p.clone().requires_grad_() for p in parameters]
        optimizer, kept = make(leaves), [[torch.zeros_like(p) for p in parameters] for _ in range(states)]
        for step in (1.0, 2.0, 3.0):
            given = [g * step for g in gradients]
            for leaf, gradient in zip(leaves, given, strict=True):
                leaf.grad = gradient.clone()
            optimizer.step()
            count = torch.tensor(step)
            steps = (count, count) if step == 2 else ()  # else from the host
            call = call_of("StepCall", lists=lists(parameters, given, *kept), steps=steps, **options)
            call.counted[:2] = step, step
            call.first = step == 1
            run(kernel, call, (3, 1))
        for made, leaf in zip(parameters, leaves, strict=True):
            near(made, leaf.detach())

    adam = {"rate": 0.01, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.1, "eps": 1e-8}
    check(lambda ps: torch.optim.AdamW(ps, lr=0.01, amsgrad=True, weight_decay=0.1), "adam_s", 3, **adam)
    sgd = {"rate": 0.01, "momentum": 0.9, "nesterov": 1, "weight_decay": 0.1}
    check(lambda ps: torch.optim.SGD(ps, 0.01, 0.9, nesterov=True, weight_decay=0.1), "sgd_s", 1, **sgd)


def test_distances_and_their_gradients_are_pytorchs():
    x, y = torch.randn(2, 4, 6), torch.randn(2, 5, 6)
    expected, (to_x,) = with_gradient(lambda t: torch.cdist(t, y, 3.0), torch.ones_like, x)
    out, grad, gradient = torch.empty_like(expected), torch.empty_like(x), torch.ones_like(expected)
    given = {"x1": x, "x2": y, "batch": 2, "rows": 4, "others": 5, "width": 6, "p": 3.0}
    run("cd", call_of("DistanceCall", out=out, **given))
    near(out, expected)
    run("cdb", call_of("DistanceCall", out=grad, gradient=gradient, distances=out, **given))
    near(grad, to_x)
    x = torch.randn(7, 6)
    expected, (to_x,) = with_gradient(torch.pdist, torch.ones_like, x)
    out, grad, gradient = torch.empty_like(expected), torch.empty_like(x), torch.ones_like(expected)
    run("pd", call_of("DistanceCall", out=out, x1=x, rows=7, width=6, p=2.0))
    near(out, expected)
    run(
        "pdb",
        call_of("DistanceCall", out=grad, x1=x, gradient=gradient, distances=out, rows=7, width=6, p=2.0),
    )
    near(grad, to_x)


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc_loss_and_its_gradient_are_pytorchs(zero_infinity):
    steps, batch, classes, longest = 9, 4, 5, 6
    scores, gradient = torch.randn(steps, batch, classes), torch.rand(batch)
    targets = torch.randint(1, classes, (batch, longest))
    targets[0, :3] = 2  # repeated labels need blanks between them
    inputs, lengths = torch.tensor([9, 7, 9, 2]), torch.tensor([3, 4, 0, 6])  # the last does not fit
    probs = scores.log_softmax(2)
    expected, (to_scores,) = with_gradient(
        lambda x: F.ctc_loss(
            x.log_softmax(2), targets, inputs, lengths, reduction="none", zero_infinity=zero_infinity
        ),
        gradient,
        scores,
    )
    states = 2 * longest + 1
    alpha, beta, loss = torch.empty(batch, steps, states), torch.empty(batch, 2, states), torch.empty(batch)
    out = torch.zeros_like(probs)
    call = call_of(
        "CtcCall", probs=probs, gradient=gradient, labels=targets, input_lengths=inputs, target_lengths=lengths,
        label_starts=torch.arange(batch) * longest, loss=loss, alpha=alpha, beta=beta, out=out, steps=steps,
        batch=batch, classes=classes, states=states, blank=0, zero_infinity=zero_infinity,
    )  # fmt: skip
    run("ctc_forward", call, (batch, 1))
    near(loss, expected)
    run("ctc_back", call, (batch, 1))
    finite = slice(None) if zero_infinity else expected.isfinite()
    near(out[:, finite], to_scores[:, finite])


def regions(x, boxes, scale, samples, aligned):
    """roi_align, from the words of its documentation: means of bilinear samples, pixel by pixel."""
    made = []
    for image, *corners in boxes.tolist():
        left, top, right, bottom = (c * scale - 0.5 * aligned for c in corners)
        wide, high = right - left, bottom - top
        if not aligned:
            wide, high = max(wide, 1), max(high, 1)
        lines = []
        for first, length, pixels in ((top, high, x.shape[2]), (left, wide, x.shape[3])):
            count = samples if samples > 0 else math.ceil(length / 2)
            weights = torch.zeros(2, pixels)
            for b in range(2):
                for s in range(count):
                    at = first + (b + (s + 0.5) / count) * length / 2
                    if -1 <= at <= pixels:
                        at = max(at, 0)
                        low = min(int(at), pixels - 1)
                        part = at - low if low < pixels - 1 else 0
                        weights[b, low] += (1 - part) / count
                        if part:
                            weights[b, low + 1] += part / count
            lines.append(weights)
        made.append(torch.einsum("by,cyx,dx->cbd", lines[0], x[int(image)], lines[1]))
    return torch.stack(made)


@pytest.mark.parametrize(("samples", "aligned"), [(2, True), (0, False), (-1, True)])
def test_regions_and_their_gradients_are_means_of_interpolated_samples(samples, aligned):
    x, gradient = torch.randn(2, 3, 7, 9), torch.randn(4, 3, 2, 2)
    boxes = torch.tensor(
        [[0, 1, 2, 12, 9], [1, -4, -3, 5, 6], [1, 3, 3, 3.5, 3.2], [0, 8, 8, 40, 30]], dtype=torch.float32
    )
    expected, (to_x,) = with_gradient(lambda x: regions(x, boxes, 0.5, samples, aligned), gradient, x)
    sizes = {"images": 2, "channels": 3, "height": 7, "width": 9, "number": 4, "down": 2, "across": 2}
    given = {"boxes": boxes, "scale": 0.5, "samples": samples, "aligned": aligned, **sizes}
    out, back = torch.empty(4, 3, 2, 2), torch.zeros_like(x)
    run("regions", call_of("RegionCall", in_=x, out=out, **given), (2, 1))
    near(out, expected)
    run("regions_back", call_of("RegionCall", in_=gradient, out=back, **given), (2, 1))
    near(back, to_x)


INTERPOLATIONS = ("nearest", "nearest-exact", "linear", "bicubic", "bilinear-aa", "bicubic-aa")


@pytest.mark.parametrize(("length", "made"), [(11, 29), (29, 11), (5, 1)])
@pytest.mark.parametrize("mode", INTERPOLATIONS)
@pytest.mark.parametrize("aligned", [False, True])
def test_interpolation_and_its_gradient_are_pytorchs(mode, aligned, length, made):
    if mode.startswith("nearest") and aligned:
        aligned = False  # has no such option
    plain = mode.removesuffix("-aa")
    two = plain.startswith("bi")  # rows of height 1, which stay as they are

    def interpolated(x):
        options = {"mode": plain, "antialias": mode.endswith("-aa")}
        if not mode.startswith("nearest"):
            options["align_corners"] = aligned
        if two:
            return F.interpolate(x.unsqueeze(2), (1, made), **options).squeeze(2)
        return F.interpolate(x, (made,), **options)

    x, gradient, out, back = (torch.randn(2, 3, n) for n in (length, made, made, length))
    expected, (to_x,) = with_gradient(interpolated, gradient, x)
    step = (length - 1) / (made - 1) if aligned and made > 1 else 0 if aligned else length / made
    support = max(step, 1) * (2 if "cubic" in mode else 1)
    width = {"nearest": 1, "nearest-exact": 1, "linear": 2, "bicubic": 4}.get(
        mode, math.ceil(support) * 2 + 1
    )
    tables = {
        "firsts": torch.zeros(made, dtype=torch.int64),
        "counts": torch.zeros(made, dtype=torch.int64),
        "weights": torch.zeros(made, width, dtype=torch.float64),
    }
    sizes = {"outer": 6, "inner": 1, "in_": length, "out": made, "width": width}
    how = {"mode": INTERPOLATIONS.index(mode), "align_corners": aligned, "single": 1, "scale": 0.0}
    run("taps_m", call_of("TapsCall", **tables, **sizes, **how))
    run("taps_a", call_of("TapsCall", from_=x, to=out, **tables, **sizes), (2, 1))
    near(out, expected)
    run("taps_t", call_of("TapsCall", from_=gradient, to=back, **tables, **sizes), (2, 1))
    near(back, to_x)
