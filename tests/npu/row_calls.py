"""Calls that reach the rows with an npu cell for which opcases.py makes no samples.

Every entry names the rows that it reaches, forward or backward. `m(2, 3)` makes a tensor of the dtype, layout and
device under test, `m.ints(…, below=5)` one of places; results are compared with the cpu's.
"""

import warnings

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F


def _scatters(m):
    places = m.ints(2, 3, below=4)
    x, src = m(4, 3), m(2, 3, seed=1)
    return [
        x.scatter(0, m.ints(1, 3, below=4), src[:1]), x.scatter(0, places[:, :1], 2.0), x.scatter_add(0, places, src),
        x.detach().scatter(0, places[:1], src.detach(), reduce="multiply"),
        x.detach().scatter(0, places[:1], 2.0, reduce="add"),
        *(x.scatter_reduce(0, places, src, kind) for kind in ("sum", "prod", "amax", "mean")),
    ]  # fmt: skip


def _picks(m):
    x, places = m(4, 3), m.ints(2, below=4)
    return [
        x[places], x[:, m.ints(2, below=3)], x[m.mask(4, 3)], x.index_select(0, places), x.take(m.ints(5, below=12)),
        x.index_add(0, places, m(2, 3, seed=1)), x.index_fill(0, places, 3), x.index_fill(0, places, m(seed=2)),
        x.gather(0, m.ints(2, 3, below=4)), x.put(m.ints(2, below=2), m(2, seed=1), True),
        x.index_put((places,), m(2, 3, seed=1), accumulate=True),
    ]  # fmt: skip


def _sums_of_rows(m):
    functions = torch._C._functions
    rows, columns = m.ints(6, below=3).sort().values, m.ints(6, below=4)
    table, weights = m(4, 3).detach(), m(6, seed=1).detach()
    offsets = functions._row_offsets(rows, 3)
    return [
        offsets,
        functions._segment_sum(table, offsets, columns, weights),
        functions._scatter_products(table, rows, columns, weights, 3),
        functions._sampled_products(m(3, 2).detach(), m(4, 2, seed=2).detach(), rows, columns),
    ]


def _copies(m):
    x, places = m(4, 3), m.distinct(2, below=4)
    return [
        x.index_copy(0, places, m(2, 3, seed=1)), x.index_put((places,), m(2, 3, seed=1)),
        *(x.index_reduce(0, places, m(2, 3, seed=1), kind) for kind in ("prod", "mean", "amax", "amin")),
    ]  # fmt: skip


def _factors(m):
    x, b = m(4, 4).detach(), m(4, 2, seed=1).detach()  # there is no gradient
    a = x + x.mT - 3 * torch.eye(4, dtype=x.dtype, device=x.device)
    return [torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a), b), torch.hash_tensor(x, 1)]


def _fractions(m):
    samples = torch.tensor([[[0.2, 0.6], [0.4, 0.1]]], dtype=m(1).dtype, device=m(1).device)
    deep = torch.tensor([[[0.2, 0.6, 0.5], [0.4, 0.1, 0.3]]], dtype=m(1).dtype, device=m(1).device)
    return [
        F.fractional_max_pool2d(m.distinct_values(1, 2, 7, 6), 2, (3, 3), _random_samples=samples),
        F.fractional_max_pool3d(m.distinct_values(1, 2, 5, 4, 4), 2, (2, 2, 2), _random_samples=deep),
    ]


def _orders(m):
    x = m.distinct_values(3, 5)
    return [
        *torch.sort(x, -1), *torch.sort(x, stable=True, dim=0, descending=True), *torch.topk(x, 2),
        *torch.kthvalue(x, 2), x.median(), *x.median(1), x.nanmedian(), *x.nanmedian(0), *x.cummax(1), *x.cummin(0),
        *torch.mode(x.round(), 1), torch.searchsorted(torch.sort(x[0])[0], x),
    ]  # fmt: skip


def _unordered(m):
    rows = m.ints(6, 2, below=2)
    return [rows.unique(dim=0), torch.nonzero(rows), torch.repeat_interleave(m.ints(4, below=3)),
            torch.nonzero_static(rows, size=4)]  # fmt: skip


def _squares(m):
    x = m(2, 3, 3)
    good = x @ x.transpose(-2, -1) + 3 * torch.eye(3, dtype=x.dtype, device=x.device)
    right = m(2, 3, 2, seed=1)
    factor, pivots = torch.linalg.lu_factor(good)
    return [
        torch.linalg.solve(good, right), torch.linalg.solve(good, right.transpose(-2, -1), left=False),
        torch.linalg.inv(good), torch.linalg.det(good), *torch.linalg.slogdet(good), torch.linalg.cholesky(good),
        torch.cholesky_inverse(torch.linalg.cholesky(good)),
        *torch.linalg.lu(good), torch.linalg.lu_solve(factor, pivots, right, adjoint=True),
        torch.linalg.solve_triangular(good.triu(), right, upper=True), torch.linalg.svdvals(good),
        torch.linalg.pinv(m(2, 4, 3, seed=2)), torch.linalg.eigvalsh(good),
    ]  # fmt: skip


def _reflections(m):
    x = m(2, 4, 3)
    a, tau = torch.geqrf(x.detach())
    return [
        a, tau, torch.linalg.householder_product(a, tau), torch.ormqr(a, tau, m(2, 4, 2, seed=1)),
        *torch.linalg.qr(x), torch.linalg.lstsq(x, m(2, 4, 2, seed=1)).solution,
    ]  # fmt: skip


def _norms(m):
    x, weight, bias = m(3, 4, 5), m(4, seed=1), m(4, seed=2)
    last = (m(5, seed=1), m(5, seed=2))
    return [
        F.layer_norm(x, [5], *last), F.group_norm(x, 2, weight, bias), F.batch_norm(x, None, None, weight, bias, True),
        F.batch_norm(x, m(4, seed=3).detach(), m(4, seed=4).abs().detach(), weight, bias, False),
    ]  # fmt: skip


def _pools(m):
    plane, box = m.distinct_values(2, 3, 6, 6), m.distinct_values(1, 2, 4, 4, 4)
    maxima, where = F.max_pool2d(plane, 2, return_indices=True)
    return [
        F.avg_pool2d(plane, 2), F.avg_pool3d(box, 2), F.adaptive_avg_pool2d(plane, 4), F.adaptive_avg_pool3d(box, 3),
        F.max_pool2d(plane, 3, 2, 1), F.max_pool3d(box, 2), *F.adaptive_max_pool2d(plane, 4, return_indices=True),
        *F.adaptive_max_pool3d(box, 3, return_indices=True), F.max_unpool2d(maxima, where, 2), maxima, where,
    ]  # fmt: skip


def _grids(m):
    plane, box = m(2, 3, 4, 4), m(1, 2, 3, 3, 3)
    return [
        F.interpolate(plane, scale_factor=2, mode="bilinear"), F.interpolate(plane, size=(3, 7)),
        F.grid_sample(plane, m(2, 3, 3, 2, seed=1) / 4, align_corners=False),
        F.grid_sample(box, m(1, 2, 2, 2, 3, seed=1) / 4, align_corners=True),
    ]  # fmt: skip


def _edges(m):
    x = m(2, 3, 6, 6)
    return [
        F.pad(x, (1, 2, 0, 1), value=0.5), F.pad(x[0], (2, 1), mode="circular"),
        *(F.pad(x, (1, 2, 1, 1), mode=mode) for mode in ("reflect", "replicate", "circular")),
        F.unfold(x, 3), F.fold(m(2, 27, 16, seed=1), (6, 6), 3), x.unfold(-1, 3, 2),
        x.flip(1, 3), x.tril(1), x.triu(-1), torch.diag_embed(x[0, 0], 1), x.as_strided((2, 3), (1, 1), 4),
    ]  # fmt: skip


def _spectra(m):
    x = m(3, 8)
    return [
        torch.fft.rfft(x), torch.fft.fft(x), torch.fft.irfft(torch.fft.rfft(x), 7),
        torch.fft.ifft2(torch.fft.fft2(x)), torch.complex(x, m(3, 8, seed=1)),
    ]  # fmt: skip


def _distances(m):
    return [torch.cdist(m(4, 3), m(5, 3, seed=1)), torch.pdist(m(4, 3)), torch.pdist(m(4, 3), 1.0)]


def _sums(m):
    x = m(3, 4)
    return [
        x.cumsum(1), x.cumprod(0), x.logcumsumexp(1), x.logsumexp(1), torch.linalg.vector_norm(x, 3.0, 0), x.var(),
        x.std(1), *torch.var_mean(x, 0), *torch.std_mean(x, 1), x.var(1, correction=0.5), x.std(correction=1.5),
    ]  # fmt: skip


def _pointwise(m):
    x, y, z = m(3, 4), m(3, 4, seed=1), m(4, seed=2)
    return [
        F.gelu(x), F.gelu(x, approximate="tanh"), F.elu(x), torch.addcmul(x, y, z, value=0.5),
        torch.addcdiv(x, y, z.abs() + 1), torch.lerp(x, y, z), *torch.frexp(x), torch.nan_to_num(x, 0.0, 1.0, -1.0),
        torch.logit(torch.sigmoid(x)), torch.round(x, decimals=1), torch.clamp(x, -1, 1), torch.nextafter(x, y),
        torch.div(x, y, rounding_mode="floor"), torch.div(x, y, rounding_mode="trunc"), torch.digamma(x.abs() + 0.5),
        F.prelu(x, z), F.glu(x),
    ]  # fmt: skip


def _losses(m):
    scores = F.log_softmax(m(5, 2, 4), -1)
    lengths = torch.tensor([5, 4]), torch.tensor([2, 1])
    return [F.ctc_loss(scores, m.ints(2, 2, below=3) + 1, *lengths)]


def _gaps(m):
    x, y = m(3, 4), m(3, 4, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of sizes that differ
        return [
            F.mse_loss(x, y), F.mse_loss(x, m(4, seed=2), reduction="none"), F.smooth_l1_loss(x, y, beta=0.5),
            F.smooth_l1_loss(x, y, reduction="sum", beta=0.0), F.huber_loss(x, y, delta=0.75),
            F.huber_loss(x, y, reduction="none"), F.huber_loss(x, y, reduction="sum"),
            F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
            F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), m(4, seed=2).detach().abs(), reduction="none"),
            F.binary_cross_entropy_with_logits(x, y.sigmoid()),
            F.binary_cross_entropy_with_logits(
                x, y.sigmoid(), m(4, seed=2).detach().abs(), pos_weight=m(4, seed=3).detach().abs(), reduction="sum"
            ),
        ]  # fmt: skip


def _pictures(m):
    x, target = m(2, 3, 4, 5), m.ints(2, 4, 5, below=3)
    return [
        F.nll_loss(x, target, reduction=reduction, ignore_index=ignored)
        for reduction in ("none", "mean", "sum")
        for ignored in (-100, 1)
    ]


def _slopes_of_samples(m):
    drawn = [m(2, 3, seed=seed).detach() for seed in range(3)]
    drawn = [x.float() if x.dtype == torch.bfloat16 else x for x in drawn]  # which no device takes
    concentration, sample, part = drawn[0].abs() + 1, drawn[1].abs() + 0.5, drawn[2].sigmoid()
    return [
        torch._standard_gamma_grad(concentration, sample),
        torch._dirichlet_grad(part, concentration, concentration.sum(-1, True).expand(2, 3)),
    ]


def _bags(m):
    indices = m.ints(9, below=5)
    weighted = {"offsets": indices.new_tensor([0, 4, 4]), "mode": "sum", "per_sample_weights": m(9)}
    means = {"offsets": indices.new_tensor([0, 2, 9]), "mode": "mean", "include_last_offset": True}
    return [F.embedding_bag(indices, m(5, 4), **weighted), F.embedding_bag(indices, m(5, 4), **means)]


CALLS = {
    "_standard_gamma_grad _dirichlet_grad": _slopes_of_samples,
    "gelu gelu_backward elu_backward addcmul addcdiv lerp.Tensor frexp.Tensor nan_to_num logit logit_backward "
    "round.decimals _clamp _div_floor.Tensor _div_trunc.Tensor nextafter _trigamma glu glu_backward": _pointwise,
    "_convolve _convolve_transposed _convolve_weight": lambda m: [
        F.conv2d(m(2, 4, 5, 5), m(6, 2, 3, 3, seed=1), m(6, seed=2), 2, 1, 1, 2),
        F.conv_transpose2d(m(2, 4, 5, 5), m(4, 6, 3, 3, seed=1), m(6, seed=2), 3, 1, 2),
    ],
    "cumsum cumprod logcumsumexp _reverse_cumsum _reverse_logcumsumexp logsumexp linalg_vector_norm var.correction "
    "std.correction var_mean.correction std_mean.correction": _sums,
    "_cdist_forward _cdist_backward _pdist_forward _pdist_backward": _distances,
    "_ctc_loss _ctc_loss_backward": _losses,
    "mse_loss mse_loss_backward smooth_l1_loss smooth_l1_loss_backward huber_loss huber_loss_backward "
    "binary_cross_entropy binary_cross_entropy_backward binary_cross_entropy_with_logits "
    "_binary_cross_entropy_with_logits_backward": _gaps,
    "nll_loss2d_forward nll_loss2d_backward": _pictures,
    "complex _fft_c2c _fft_r2c _fft_c2r": _spectra,
    "_index _index_put_ gather index_select index_add index_fill.int_Scalar index_fill.int_Tensor take put": _picks,
    "scatter.src scatter.value scatter.reduce scatter.value_reduce scatter_add scatter_reduce.two": _scatters,
    "index_copy index_reduce": _copies,
    "_row_offsets _segment_sum _scatter_products _sampled_products": _sums_of_rows,
    "_nonzero_count nonzero_static _repeat_runs _row_order": _unordered,
    "_histogram_counts _value_counts": lambda m: [
        torch.histc(m(40), 6), torch.histc(m(40), 4, -0.5, 0.5), torch.bincount(m.ints(30, below=7)),
        torch.bincount(m.ints(30, below=7), m(30).float(), minlength=9),
    ],
    "_bag_sums": _bags,
    "embedding": lambda m: [F.embedding(m.ints(2, 3, below=5), m(5, 4))],
    "_linalg_lu_factor _linalg_lu_solve _linalg_permutation _linalg_solve _linalg_inverse _linalg_det _linalg_slogdet "
    "_linalg_cholesky cholesky_inverse _linalg_solve_triangular _linalg_svd _linalg_pinv _linalg_eigh": _squares,
    "_linalg_qr _linalg_geqrf _linalg_householder_product _linalg_ormqr _linalg_lstsq": _reflections,
    "_linalg_ldl_factor _linalg_ldl_solve hash_tensor": _factors,
    "fractional_max_pool2d fractional_max_pool3d": _fractions,
    "baddbmm": lambda m: [torch.baddbmm(m(2, 3, 2), m(2, 3, 4, seed=1), m(2, 4, 2, seed=2), beta=0.5, alpha=2)],
    "native_layer_norm native_group_norm native_batch_norm _layer_norm_backward _group_norm_backward "
    "_batch_norm_backward": _norms,
    "avg_pool2d avg_pool3d _avg_pool_backward _adaptive_avg_pool2d _adaptive_avg_pool3d _adaptive_avg_pool_backward "
    "max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool2d adaptive_max_pool3d _plane_scatter "
    "_plane_gather max_pool2d_with_indices_backward": _pools,
    "flip tril triu diag_embed constant_pad_nd _extend_edges _extend_edges_backward unfold_backward _as_strided_sum "
    "im2col col2im": _edges,
    "sort sort.stable topk kthvalue median median.dim nanmedian nanmedian.dim mode cummax cummin "
    "_search_sorted": _orders,
    "_interpolate _interpolate_backward grid_sampler_2d grid_sampler_3d _grid_sampler_backward": _grids,
    "_arange _linspace _triangle_indices": lambda m: [
        torch.arange(2, 9, 3, device=m.device), torch.linspace(0, 1, 5, device=m.device),
        torch.tril_indices(3, 4, 1, device=m.device), torch.triu_indices(4, 3, -1, device=m.device),
    ],
}  # fmt: skip

# Their values are drawn: shape, dtype and range are what can be asked for (test_random.py has the rest).
DRAWN = {
    "_randperm": lambda x: torch.randperm(5, device=x.device).sort()[0].float()
    - torch.arange(5, device=x.device),
    "bernoulli_.Tensor": lambda x: x.bernoulli_(torch.full_like(x, 0.5)),
    "random_.to": lambda x: x.random_(5),
    "random_": lambda x: x.random_(),
    "exponential_": lambda x: x.exponential_(),
    "cauchy_": lambda x: x.cauchy_().abs(),
    "log_normal_": lambda x: x.log_normal_(),
    "geometric_": lambda x: x.geometric_(0.3) - 1,
    "bernoulli": lambda x: torch.bernoulli(torch.full_like(x, 0.5)),
    "bernoulli.p": lambda x: torch.bernoulli(x, 0.5),
    "_standard_gamma": lambda x: torch._standard_gamma(x + 2),
    "_sample_dirichlet": lambda x: torch._sample_dirichlet(x + 2),
    "poisson": lambda x: torch.poisson(x + 3),
    "binomial": lambda x: torch.binomial(x + 5, x + 0.5),
    "multinomial": lambda x: torch.multinomial(torch.ones_like(x), 2),
}
