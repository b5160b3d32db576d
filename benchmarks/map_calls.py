"""Calls of the speed map whose arguments have a meaning of their own, by area of the operator table.

`text` is an expression over the inputs, `torch` and `F`, evaluated in either library. Inputs are shapes, or Tensors
where values or dtype matter; Words are evaluated before, once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

FLOATS = ("float32", "float64", "bfloat16", "float16")


@dataclass(frozen=True)
class Tensor:
    shape: tuple[int, ...]
    values: str = "smooth"  # as tests/opcases.py's Array
    dtype: str | None = None
    layout: str = "plain"
    grad: bool = True


@dataclass(frozen=True)
class Words:
    text: str


@dataclass(frozen=True)
class Call:
    row: str
    note: str
    text: str
    inputs: dict[str, Any] = field(hash=False)
    dtypes: tuple[str, ...] = ("float32",)
    backward: bool = True


def whole(*shape: int, below: int) -> Tensor:
    return Tensor(shape, f"classes:{below}", "int64", grad=False)


def mask(*shape: int) -> Tensor:
    return Tensor(shape, "mask", "bool", grad=False)


def positive(*shape: int) -> Tensor:
    return Tensor(shape, "positive")


def unit(*shape: int) -> Tensor:
    return Tensor(shape, "unit")


def _forward(row: str, note: str, text: str, dtypes: tuple[str, ...] = ("float32",), **inputs: Any) -> Call:
    return Call(row, note, text, inputs, dtypes, backward=False)


def _both(row: str, note: str, text: str, dtypes: tuple[str, ...] = ("float32",), **inputs: Any) -> Call:
    return Call(row, note, text, inputs, dtypes)


def _over_dims(
    row: str, text: str, dtypes: tuple[str, ...] = ("float32", "float64", "bfloat16")
) -> list[Call]:
    cube = (160, 160, 160)
    return [_both(row, f"4M dim {dim}", text.replace("DIM", str(dim)), dtypes, x=cube) for dim in (0, 1, 2)]


_INDEX = whole(1024, 1024, below=1024)
_PICTURES = (8, 64, 56, 56)

CALLS: dict[str, list[Call]] = {
    "conv": [
        _both("conv2d", "3x3", "F.conv2d(x, w, b, padding=1)", FLOATS, x=_PICTURES, w=(64, 64, 3, 3), b=(64,)),
        _both("conv2d", "3x3 stride 2", "F.conv2d(x, w, None, 2, 1)", x=_PICTURES, w=(128, 64, 3, 3)),
        _both("conv2d", "1x1", "F.conv2d(x, w)", x=_PICTURES, w=(128, 64, 1, 1)),
        _both("conv2d", "7x7 stride 2", "F.conv2d(x, w, None, 2, 3)", x=(4, 3, 224, 224), w=(64, 3, 7, 7)),
        _both("conv2d", "groups 4", "F.conv2d(x, w, None, 1, 1, 1, 4)", x=_PICTURES, w=(64, 16, 3, 3)),
        _both("conv2d", "depthwise", "F.conv2d(x, w, None, 1, 1, 1, 64)", x=_PICTURES, w=(64, 1, 3, 3)),
        _both("conv2d", "dilated", "F.conv2d(x, w, None, 1, 2, 2)", x=_PICTURES, w=(64, 64, 3, 3)),
        _both("conv1d", "k5", "F.conv1d(x, w, None, 1, 2)", x=(8, 64, 1024), w=(64, 64, 5)),
        _both("conv3d", "3x3x3", "F.conv3d(x, w, None, 1, 1)", x=(2, 16, 16, 32, 32), w=(32, 16, 3, 3, 3)),
        _both("conv_transpose2d", "4x4 stride 2", "F.conv_transpose2d(x, w, None, 2, 1)",
              x=(4, 64, 28, 28), w=(64, 32, 4, 4)),
    ],
    "matmul": [
        _both("mm", "512", "torch.mm(x, y)", FLOATS, x=(512, 512), y=(512, 512)),
        _both("mm", "transposed", "torch.mm(x.t(), y)", x=(512, 512), y=(512, 512)),
        _both("mm", "64", "torch.mm(x, y)", x=(64, 64), y=(64, 64)),
        _both("mm", "thin", "torch.mm(x, y)", x=(4096, 16), y=(16, 64)),
        _both("bmm", "64 of 64", "torch.bmm(x, y)", FLOATS, x=(64, 64, 64), y=(64, 64, 64)),
        _both("bmm", "4096 of 8", "torch.bmm(x, y)", x=(4096, 8, 8), y=(4096, 8, 8)),
        _both("mv", "2048", "torch.mv(x, v)", FLOATS, x=(2048, 2048), v=(2048,)),
        _both("mv", "2048 transposed", "torch.mv(x.t(), v)", x=(2048, 2048), v=(2048,)),
        _both("dot", "4M", "torch.dot(x, y)", FLOATS, x=(1 << 22,), y=(1 << 22,)),
        _both("addmm", "256", "torch.addmm(b, x, y)", x=(256, 256), y=(256, 256), b=(256,)),
        _both("linear", "batch 64", "F.linear(x, w, b)", FLOATS, x=(64, 1024), w=(1024, 1024), b=(1024,)),
        _both("linear", "one row", "F.linear(x, w, b)", FLOATS, x=(1, 1024), w=(4096, 1024), b=(4096,)),
        _both("outer", "2048", "torch.outer(x, y)", x=(2048,), y=(2048,)),
        _both("baddbmm", "64 of 64", "torch.baddbmm(b, x, y)", x=(64, 64, 64), y=(64, 64, 64), b=(64, 64, 64)),
        _both("bilinear", "64", "F.bilinear(x, y, w)", x=(64, 64), y=(64, 64), w=(64, 64, 64)),
        _both("linalg_cross", "1M", "torch.linalg.cross(x, y)", x=(1 << 20, 3), y=(1 << 20, 3)),
        _both("linalg_vecdot", "4M", "torch.linalg.vecdot(x, y)", x=(4096, 1024), y=(4096, 1024)),
        _both("tensordot", "64", "torch.tensordot(x, y, 2)", x=(64, 64, 64), y=(64, 64, 64)),
        _both("inner", "512", "torch.inner(x, y)", x=(512, 512), y=(512, 512)),
        _both("addmv", "2048", "torch.addmv(b, x, v)", x=(2048, 2048), v=(2048,), b=(2048,)),
        _both("addr", "2048", "torch.addr(b, x, y)", x=(2048,), y=(2048,), b=(2048, 2048)),
        _forward("mm", "int64 256", "torch.mm(x, y)", ("int64",), x=(256, 256), y=(256, 256)),
    ],
    "attention": [
        _both("scaled_dot_product_attention", "128 queries", "F.scaled_dot_product_attention(q, k, v)",
              FLOATS, q=(4, 8, 128, 64), k=(4, 8, 128, 64), v=(4, 8, 128, 64)),
        _both("scaled_dot_product_attention", "causal 512", "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
              q=(1, 8, 512, 64), k=(1, 8, 512, 64), v=(1, 8, 512, 64)),
        _forward("scaled_dot_product_attention", "mask 256", "F.scaled_dot_product_attention(q, k, v, m)",
                 q=(2, 8, 256, 64), k=(2, 8, 256, 64), v=(2, 8, 256, 64), m=mask(256, 256)),
        _forward("scaled_dot_product_attention", "bias 256", "F.scaled_dot_product_attention(q, k, v, m)",
                 q=(2, 8, 256, 64), k=(2, 8, 256, 64), v=(2, 8, 256, 64), m=(256, 256)),
        _forward("scaled_dot_product_attention", "decoding", "F.scaled_dot_product_attention(q, k, v)",
                 FLOATS, q=(4, 16, 1, 64), k=(4, 16, 1024, 64), v=(4, 16, 1024, 64)),
    ],
    "linalg": [
        *[
            _forward(row, note, text, ("float32", "float64"), x=shape, b=(*shape[:-1], 1),
                     y=Words(f"x @ x.mT + {shape[-1]} * torch.eye({shape[-1]}, dtype=x.dtype)"))
            for note, shape in (("512", (512, 512)), ("4096 of 4", (4096, 4, 4)), ("64 of 32", (64, 32, 32)))
            for row, text in (
                ("linalg_inv", "torch.linalg.inv(y)"), ("linalg_det", "torch.linalg.det(y)"),
                ("linalg_solve", "torch.linalg.solve(y, b)"), ("linalg_cholesky", "torch.linalg.cholesky(y)"),
                ("linalg_lu_factor", "torch.linalg.lu_factor(y)"), ("linalg_qr", "torch.linalg.qr(y)"),
                ("linalg_slogdet", "torch.linalg.slogdet(y)"),
            )
        ],
        _forward("linalg_eigh", "128", "torch.linalg.eigh(y)", x=(128, 128), y=Words("x + x.mT")),
        _forward("linalg_svd", "128", "torch.linalg.svd(x)", x=(128, 128)),
        _forward("linalg_eig", "64", "torch.linalg.eig(x)", x=(64, 64)),
        _forward("linalg_solve_triangular", "256", "torch.linalg.solve_triangular(y, b, upper=False)",
                 x=(256, 256), y=Words("x.tril() + 256 * torch.eye(256)"), b=(256, 64)),
        _both("linalg_matrix_exp", "64", "torch.linalg.matrix_exp(x / 100)", x=(64, 64)),
        _both("linalg_vector_norm", "4M", "torch.linalg.vector_norm(x)", x=(2048, 2048)),
        _both("linalg_vector_norm", "4M dim 0", "torch.linalg.vector_norm(x, 2, 0)", x=(2048, 2048)),
        _both("linalg_vector_norm", "4M p 3", "torch.linalg.vector_norm(x, 3, 1)", x=(2048, 2048)),
    ],
    "fft": [
        *[
            _forward(row, f"{n}", text, ("float32", "float64"), x=(256, n))
            for n in (1024, 1000, 1009, 1500)
            for row, text in (("fft_fft", "torch.fft.fft(x)"), ("fft_rfft", "torch.fft.rfft(x)"))
        ],
        _forward("fft_irfft", "1024", "torch.fft.irfft(y)", x=(256, 1024), y=Words("torch.fft.rfft(x)")),
        _both("fft_fft2", "256", "torch.fft.fft2(x).real", x=(8, 256, 256)),
        _forward("fft_fftn", "first dim", "torch.fft.fft(x, dim=0)", x=(1024, 256)),
        _forward("stft", "512", "torch.stft(x, 512, return_complex=True, window=w)", x=(4, 65536), w=positive(512)),
    ],
    "index": [
        _both("gather", "1M dim 1", "torch.gather(x, 1, i)", FLOATS, x=(1024, 1024), i=_INDEX),
        _both("gather", "1M dim 0", "torch.gather(x, 0, i)", x=(1024, 1024), i=_INDEX),
        _both("scatter.src", "1M dim 1", "torch.scatter(x, 1, i, s)", x=(1024, 1024), i=_INDEX, s=(1024, 1024)),
        _both("scatter_add", "1M dim 1", "torch.scatter_add(x, 1, i, s)", x=(1024, 1024), i=_INDEX, s=(1024, 1024)),
        _both("scatter_add", "1M dim 0", "torch.scatter_add(x, 0, i, s)", FLOATS,
              x=(1024, 1024), i=_INDEX, s=(1024, 1024)),
        _forward("scatter_reduce.two", "1M", "torch.scatter_reduce(x, 1, i, s, 'amax')",
                 x=(1024, 1024), i=_INDEX, s=(1024, 1024)),
        _both("index_select", "rows", "torch.index_select(x, 0, i)", x=(8192, 256), i=whole(8192, below=8192)),
        _both("index_select", "columns", "torch.index_select(x, 1, i)", x=(2048, 512), i=whole(512, below=512)),
        _both("index.Tensor", "rows", "x[i]", FLOATS, x=(8192, 256), i=whole(8192, below=8192)),
        _both("index.Tensor", "pairs", "x[i, j]", x=(1024, 1024), i=_INDEX, j=_INDEX),
        _both("index.Tensor", "mask", "x[m]", x=(1024, 1024), m=mask(1024, 1024)),
        _forward("index_put_", "rows add", "x.index_put_((i,), s, accumulate=True)",
                 x=(8192, 128), i=whole(8192, below=8192), s=(8192, 128)),
        _both("index_add", "rows", "torch.index_add(x, 0, i, s)",
              x=(8192, 128), i=whole(8192, below=8192), s=(8192, 128)),
        _forward("index_copy", "rows", "torch.index_copy(x, 0, i, s)",
                 x=(8192, 128), i=Words("torch.arange(8192)"), s=(8192, 128)),
        _forward("index_fill.int_Scalar", "rows", "torch.index_fill(x, 0, i, 1.0)",
                 x=(8192, 128), i=whole(4096, below=8192)),
        _both("take", "1M", "torch.take(x, i)", x=(1024, 1024), i=whole(1 << 20, below=1 << 20)),
        _both("take_along_dim", "1M", "torch.take_along_dim(x, i, 1)", x=(1024, 1024), i=_INDEX),
        _forward("nonzero", "1M", "torch.nonzero(m)", m=mask(1024, 1024)),
        _forward("count_nonzero", "4M", "torch.count_nonzero(x)", x=(2048, 2048)),
        _both("where.self", "4M", "torch.where(m, x, y)", FLOATS, m=mask(2048, 2048), x=(2048, 2048), y=(2048, 2048)),
        _both("masked_fill.Scalar", "4M", "x.masked_fill(m, 1.0)", FLOATS, m=mask(2048, 2048), x=(2048, 2048)),
        _both("masked_select", "4M", "torch.masked_select(x, m)", m=mask(2048, 2048), x=(2048, 2048)),
        _forward("masked_scatter", "1M", "torch.masked_scatter(x, m, s)",
                 m=mask(1024, 1024), x=(1024, 1024), s=(1024, 1024)),
        _both("repeat_interleave.self_int", "1M by 4", "torch.repeat_interleave(x, 4, 0)", x=(4096, 256)),
    ],
    "pool": [
        _both("max_pool2d", "2x2", "F.max_pool2d(x, 2)", FLOATS, x=(8, 64, 112, 112)),
        _both("max_pool2d", "3x3 stride 2", "F.max_pool2d(x, 3, 2, 1)", x=(8, 64, 112, 112)),
        _both("avg_pool2d", "2x2", "F.avg_pool2d(x, 2)", FLOATS, x=(8, 64, 112, 112)),
        _both("avg_pool2d", "3x3", "F.avg_pool2d(x, 3, 1, 1)", x=(8, 64, 56, 56)),
        _both("adaptive_avg_pool2d", "7", "F.adaptive_avg_pool2d(x, 7)", x=_PICTURES),
        _both("adaptive_avg_pool2d", "1", "F.adaptive_avg_pool2d(x, 1)", x=_PICTURES),
        _both("adaptive_max_pool2d", "7", "F.adaptive_max_pool2d(x, 7)", x=_PICTURES),
        _both("max_pool1d", "4", "F.max_pool1d(x, 4)", x=(8, 64, 4096)),
        _both("max_pool3d", "2", "F.max_pool3d(x, 2)", x=(2, 16, 32, 64, 64)),
        _both("avg_pool3d", "2", "F.avg_pool3d(x, 2)", x=(2, 16, 32, 64, 64)),
    ],
    "normalization": [
        _both("layer_norm", "768", "F.layer_norm(x, (768,), w, b)", FLOATS, x=(4096, 768), w=(768,), b=(768,)),
        _both("rms_norm", "768", "F.rms_norm(x, (768,), w)", FLOATS, x=(4096, 768), w=(768,)),
        _both("batch_norm", "training", "F.batch_norm(x, None, None, w, b, True)", x=_PICTURES, w=(64,), b=(64,)),
        _forward("batch_norm", "evaluation", "F.batch_norm(x, m, v, w, b)",
                 x=_PICTURES, m=(64,), v=positive(64), w=(64,), b=(64,)),
        _both("batch_norm", "two dimensions", "F.batch_norm(x, None, None, w, b, True)",
              x=(4096, 256), w=(256,), b=(256,)),
        _both("group_norm", "8 groups", "F.group_norm(x, 8, w, b)", x=_PICTURES, w=(64,), b=(64,)),
        _both("instance_norm", "64", "F.instance_norm(x)", x=_PICTURES),
        _both("normalize", "rows", "F.normalize(x, dim=1)", x=(4096, 768)),
        _both("local_response_norm", "5", "F.local_response_norm(x, 5)", x=_PICTURES),
    ],
    "loss": [
        _both("cross_entropy_loss", "1000 classes", "F.cross_entropy(x, t)", FLOATS,
              x=(2048, 1000), t=whole(2048, below=1000)),
        _both("cross_entropy_loss", "smoothed", "F.cross_entropy(x, t, label_smoothing=0.1)",
              x=(2048, 1000), t=whole(2048, below=1000)),
        _both("cross_entropy_loss", "of pictures", "F.cross_entropy(x, t)",
              x=(8, 20, 128, 128), t=whole(8, 128, 128, below=20)),
        _both("nll_loss", "1000 classes", "F.nll_loss(x, t)", x=(2048, 1000), t=whole(2048, below=1000)),
        _both("mse_loss", "4M", "F.mse_loss(x, y)", FLOATS, x=(2048, 2048), y=(2048, 2048)),
        _both("l1_loss", "4M", "F.l1_loss(x, y)", x=(2048, 2048), y=(2048, 2048)),
        _both("smooth_l1_loss", "4M", "F.smooth_l1_loss(x, y)", x=(2048, 2048), y=(2048, 2048)),
        _both("huber_loss", "4M", "F.huber_loss(x, y)", x=(2048, 2048), y=(2048, 2048)),
        _both("binary_cross_entropy_with_logits", "4M", "F.binary_cross_entropy_with_logits(x, y)",
              x=(2048, 2048), y=Tensor((2048, 2048), "unit", grad=False)),
        _both("binary_cross_entropy", "4M", "F.binary_cross_entropy(x, y)",
              x=unit(2048, 2048), y=Tensor((2048, 2048), "unit", grad=False)),
        _both("kl_div", "4M", "F.kl_div(x, y)", x=(2048, 2048), y=Tensor((2048, 2048), "unit", grad=False)),
        _both("soft_margin_loss", "4M", "F.soft_margin_loss(x, y)",
              x=(2048, 2048), y=Tensor((2048, 2048), grad=False)),
        _both("cosine_embedding_loss", "4096", "F.cosine_embedding_loss(x, y, t)",
              x=(4096, 256), y=(4096, 256), t=Words("torch.ones(4096)")),
        _both("triplet_margin_loss", "4096", "F.triplet_margin_loss(x, y, z)",
              x=(4096, 256), y=(4096, 256), z=(4096, 256)),
        _both("multilabel_margin_loss", "1024", "F.multilabel_margin_loss(x, t)",
              x=(1024, 64), t=whole(1024, 64, below=64)),
    ],
    "distance": [
        _both("cdist", "p 2", "torch.cdist(x, y)", ("float32", "float64"), x=(512, 64), y=(512, 64)),
        _both("cdist", "p 2 short", "torch.cdist(x, y)", x=(16, 20, 64), y=(16, 20, 64)),
        _both("cdist", "p 1", "torch.cdist(x, y, 1.0)", ("float32", "float64"), x=(512, 64), y=(512, 64)),
        _both("cdist", "p inf", "torch.cdist(x, y, float('inf'))", x=(512, 64), y=(512, 64)),
        _both("cdist", "p 3", "torch.cdist(x, y, 3.0)", x=(256, 64), y=(256, 64)),
        _both("pdist", "p 2", "F.pdist(x)", x=(512, 64)),
        _both("cosine_similarity", "4096", "F.cosine_similarity(x, y)", x=(4096, 256), y=(4096, 256)),
        _both("pairwise_distance", "4096", "F.pairwise_distance(x, y)", x=(4096, 256), y=(4096, 256)),
    ],
    "resample": [
        *[
            _both("interpolate", f"{mode} {note}", f"F.interpolate(x, {how}, mode='{mode}')", x=(4, 16, 128, 128))
            for mode in ("nearest", "bilinear", "bicubic")
            for note, how in (("twice", "scale_factor=2"), ("half", "scale_factor=0.5"))
        ],
        _both("grid_sampler_2d", "bilinear", "F.grid_sample(x, g, align_corners=False)",
              x=(4, 16, 128, 128), g=Tensor((4, 128, 128, 2), "unit")),
        _both("grid_sampler_2d", "nearest", "F.grid_sample(x, g, 'nearest', align_corners=False)",
              x=(4, 16, 128, 128), g=Tensor((4, 128, 128, 2), "unit")),
        _both("grid_sampler_3d", "bilinear", "F.grid_sample(x, g, align_corners=False)",
              x=(1, 4, 32, 32, 32), g=Tensor((1, 32, 32, 32, 3), "unit")),
        _both("affine_grid_generator", "128", "F.affine_grid(t, (8, 3, 128, 128), False)", t=(8, 2, 3)),
    ],
    "sort": [
        *_over_dims("sort", "torch.sort(x, DIM)", ("float32", "int64")),
        _forward("sort", "1M", "torch.sort(x)", ("float32", "int64", "bfloat16"), x=(1 << 20,)),
        _forward("argsort", "1M of int64", "torch.argsort(i)", i=whole(1 << 20, below=1 << 30)),
        _forward("argsort", "4096 rows", "torch.argsort(x)", x=(4096, 256)),
        _both("topk", "10 of 1000", "torch.topk(x, 10)", FLOATS, x=(2048, 1000)),
        _both("topk", "100 of 1M", "torch.topk(x, 100)", x=(1 << 20,)),
        _both("kthvalue", "rows", "torch.kthvalue(x, 10)", x=(2048, 1000)),
        _both("median", "1M", "torch.median(x)", x=(1 << 20,)),
        _both("median.dim", "rows", "torch.median(x, 1)", x=(2048, 1000)),
        _forward("mode", "rows", "torch.mode(x, 1)", x=(512, 512)),
        _both("cummax", "rows", "torch.cummax(x, 1)", x=(2048, 1000)),
        _both("cummax", "columns", "torch.cummax(x, 0)", x=(2048, 1000)),
        _forward("unique", "1M", "torch.unique(i)", i=whole(1 << 20, below=1 << 16)),
        _forward("unique", "1M inverse", "torch.unique(i, return_inverse=True)", i=whole(1 << 20, below=1 << 16)),
        _forward("unique_consecutive", "1M", "torch.unique_consecutive(i)", i=whole(1 << 20, below=4)),
        _forward("bincount", "1M", "torch.bincount(i)", i=whole(1 << 20, below=1000)),
        _forward("bincount", "1M weighted", "torch.bincount(i, w)", i=whole(1 << 20, below=1000), w=(1 << 20,)),
        _forward("histc", "1M", "torch.histc(x, 100)", ("float32", "float64"), x=(1 << 20,)),
        _forward("histogram.bin_ct", "1M", "torch.histogram(x, 100)", x=(1 << 20,)),
        _forward("searchsorted.Tensor", "1M", "torch.searchsorted(s, x)",
                 x=(1 << 20,), y=(4096,), s=Words("torch.sort(y)[0]")),
        _forward("bucketize.Tensor", "1M", "torch.bucketize(x, s)", x=(1 << 20,), y=(64,), s=Words("torch.sort(y)[0]")),
        _forward("isin.Tensor_Tensor", "1M", "torch.isin(i, j)",
                 i=whole(1 << 20, below=1 << 20), j=whole(4096, below=1 << 20)),
    ],
    "softmax": [
        *_over_dims("softmax.int", "torch.softmax(x, DIM)"),
        *_over_dims("log_softmax.int", "torch.log_softmax(x, DIM)"),
        _both("softmax.int", "short rows", "torch.softmax(x, -1)", x=(65536, 10)),
        _both("softmax.int", "long rows", "torch.softmax(x, -1)", FLOATS, x=(16, 50257)),
    ],
    "cumulative": [
        *_over_dims("cumsum", "torch.cumsum(x, DIM)", ("float32", "float64", "bfloat16", "int64")),
        *_over_dims("logcumsumexp", "torch.logcumsumexp(x, DIM)", ("float32",)),
        *_over_dims("cumprod", "torch.cumprod(x, DIM)", ("float32",)),
        _both("diff", "4M", "torch.diff(x)", x=(2048, 2048)),
        _both("trapezoid.dx", "4M", "torch.trapezoid(x)", x=(2048, 2048)),
    ],
    "statistics": [
        *_over_dims("var.correction", "torch.var(x, DIM)"),
        *_over_dims("std_mean.correction", "torch.std_mean(x, DIM)", ("float32",)),
        _both("var", "4M", "torch.var(x)", FLOATS, x=(2048, 2048)),
        _forward("quantile", "rows", "torch.quantile(x, 0.3, 1)", x=(1024, 1000)),
        _both("cov", "256", "torch.cov(x)", x=(256, 1024)),
        _both("corrcoef", "256", "torch.corrcoef(x)", x=(256, 1024)),
    ],
    "reduce": [
        *_over_dims("logsumexp", "torch.logsumexp(x, DIM)"),
        *_over_dims("max.dim", "torch.max(x, DIM)", ("float32", "bfloat16", "int64")),
        *_over_dims("argmax", "torch.argmax(x, DIM)", ("float32", "bfloat16", "int64")),
        *_over_dims("norm.ScalarOpt_dim", "torch.norm(x, 2, DIM)"),
        *_over_dims("nansum", "torch.nansum(x, DIM)", ("float32",)),
        _forward("aminmax", "4M", "torch.aminmax(x)", x=(2048, 2048)),
        _both("renorm", "4M", "torch.renorm(x, 2, 0, 1.0)", x=(2048, 2048)),
    ],
    "embedding": [
        _both("embedding", "rows of 256", "F.embedding(i, w)", FLOATS, i=whole(64, 128, below=10000), w=(10000, 256)),
        _both("embedding_bag", "mean", "F.embedding_bag(i, w)", i=whole(256, 32, below=10000), w=(10000, 64)),
        _forward("one_hot", "1000", "F.one_hot(i, 1000)", i=whole(2048, below=1000)),
    ],
    "padding": [
        _both("pad", f"{mode}", f"F.pad(x, (2, 2, 2, 2), '{mode}')", x=_PICTURES)
        for mode in ("constant", "reflect", "replicate", "circular")
    ],
    "shape": [
        _both("cat", "dim 0", "torch.cat([x, y])", FLOATS, x=(1024, 2048), y=(1024, 2048)),
        _both("cat", "dim 1", "torch.cat([x, y], 1)", FLOATS, x=(1024, 2048), y=(1024, 2048)),
        _both("stack", "last", "torch.stack([x, y], -1)", x=(1024, 2048), y=(1024, 2048)),
        *[
            _both("flip", f"4M {dims}", f"torch.flip(x, {dims})", FLOATS, x=(2048, 2048))
            for dims in ((0,), (1,), (0, 1))
        ],
        _both("roll", "4M", "torch.roll(x, 7, 1)", x=(2048, 2048)),
        _both("rot90", "4M", "torch.rot90(x)", x=(2048, 2048)),
        _both("tril", "4M", "torch.tril(x)", x=(2048, 2048)),
        _both("repeat", "4M", "x.repeat(4, 2)", x=(512, 1024)),
        _both("tile", "4M", "torch.tile(x, (2, 4))", x=(1024, 512)),
        _forward("kron", "64", "torch.kron(x, y)", x=(32, 32), y=(64, 64)),
    ],
    "copy": [
        _both("clone", "4M", "x.clone()", FLOATS, x=(2048, 2048)),
        _both("contiguous", "4M transposed", "x.t().contiguous()", FLOATS, x=(2048, 2048)),
        _both("contiguous", "4M permuted", "x.permute(0, 2, 1).contiguous()", x=(64, 256, 256)),
        _both("contiguous", "to channels last", "x.contiguous(memory_format=torch.channels_last)", x=_PICTURES),
        *[
            _both("to.dtype", f"4M to {dtype}", f"x.to(torch.{dtype})", ("float32",), x=(2048, 2048))
            for dtype in ("float64", "bfloat16", "float16", "int64", "int32", "bool")
        ],
        *[
            _forward("to.dtype", f"4M from {dtype}", "x.to(torch.float32)", (dtype,), x=(2048, 2048))
            for dtype in ("float64", "bfloat16", "float16", "int64", "uint8", "bool")
        ],
        _forward("copy_", "4M broadcast", "x.copy_(y)", FLOATS, x=(2048, 2048), y=(2048,)),
        _forward("fill_.Scalar", "4M", "x.fill_(1.0)", FLOATS, x=(2048, 2048)),
    ],
    "creation": [
        _forward("zeros", "4M", "torch.zeros(2048, 2048)"),
        _forward("full", "4M", "torch.full((2048, 2048), 3.0)"),
        _forward("arange", "4M", "torch.arange(1 << 22)"),
        _forward("linspace", "4M", "torch.linspace(0, 1, 1 << 22)"),
        _forward("eye", "2048", "torch.eye(2048)"),
        _forward("tril_indices", "1024", "torch.tril_indices(1024, 1024)"),
    ],
    "random": [
        _forward("rand", "4M", "torch.rand(2048, 2048)"),
        _forward("randn", "4M", "torch.randn(2048, 2048)"),
        _forward("randint", "4M", "torch.randint(0, 100, (2048, 2048))"),
        _forward("randperm", "1M", "torch.randperm(1 << 20)"),
        _forward("bernoulli", "4M", "torch.bernoulli(x)", x=unit(2048, 2048)),
        _forward("exponential_", "4M", "x.exponential_()", x=(2048, 2048)),
        _forward("multinomial", "1000", "torch.multinomial(x, 10)", x=unit(256, 1000)),
        _forward("normal_", "4M", "x.normal_()", ("float32", "float64", "bfloat16"), x=(2048, 2048)),
    ],
    "dropout": [_both("dropout", "4M", "F.dropout(x, 0.3)", FLOATS, x=(2048, 2048))],
    "recurrent": [
        _both("lstm", "128", "m(x)[0]", x=(64, 16, 128), m=Words("torch.nn.LSTM(128, 128)")),
        _both("gru.input", "128", "m(x)[0]", x=(64, 16, 128), m=Words("torch.nn.GRU(128, 128)")),
    ],
    "pointwise": [
        _both("addcmul", "4M", "torch.addcmul(x, y, z, value=0.5)", FLOATS,
              x=(2048, 2048), y=(2048, 2048), z=(2048, 2048)),
        _both("addcdiv", "4M", "torch.addcdiv(x, y, z, value=0.5)",
              x=(2048, 2048), y=(2048, 2048), z=positive(2048, 2048)),
        _both("lerp.Tensor", "4M", "torch.lerp(x, y, z)", x=(2048, 2048), y=(2048, 2048), z=unit(2048, 2048)),
        _both("clamp", "4M", "torch.clamp(x, -1, 1)", FLOATS, x=(2048, 2048)),
        _both("nan_to_num", "4M", "torch.nan_to_num(x)", x=(2048, 2048)),
    ],
    "activation": [
        _both("softplus", "4M", "F.softplus(x)", FLOATS, x=(2048, 2048)),
        _both("gelu", "4M tanh", "F.gelu(x, approximate='tanh')", FLOATS, x=(2048, 2048)),
        _both("gelu", "4M", "F.gelu(x)", FLOATS, x=(2048, 2048)),
        _both("elu", "4M", "F.elu(x)", FLOATS, x=(2048, 2048)),
        _both("leaky_relu", "4M", "F.leaky_relu(x, 0.1)", x=(2048, 2048)),
        _both("glu", "4M", "F.glu(x)", x=(2048, 2048)),
        _both("prelu", "4M", "F.prelu(x, w)", x=(64, 64, 1024), w=(64,)),
        _both("hardtanh", "4M", "F.hardtanh(x)", x=(2048, 2048)),
        _both("threshold", "4M", "F.threshold(x, 0.1, 0.0)", x=(2048, 2048)),
        _both("rrelu", "4M", "F.rrelu(x)", x=(2048, 2048)),
    ],
}  # fmt: skip
