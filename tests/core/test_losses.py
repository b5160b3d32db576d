"""Losses and distances without PyTorch beside them: what is refused, and the edges of their gradients."""

import functools
import math
import warnings

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F


def test_the_cross_entropy_of_certain_probabilities_stays_finite():
    x = torch.tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True)
    target = torch.tensor([0.0, 1.0, 1.0, 0.0])
    loss = F.binary_cross_entropy(x, target, reduction="none")
    assert loss.tolist() == [0, 0, 100, 100]
    loss.sum().backward()
    assert x.grad.tolist()[:2] == [0, 0] and all(math.isfinite(g) for g in x.grad.tolist())


def test_large_scores_do_not_overflow():
    x = torch.tensor([1000.0, -1000.0, 0.0], requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, torch.tensor([0.0, 1.0, 1.0]), reduction="none")
    assert loss.tolist() == pytest.approx([1000, 1000, math.log(2)])
    loss.sum().backward()
    assert x.grad.tolist() == pytest.approx([1, -1, -0.5])


def test_nothing_times_its_logarithm_is_nothing():
    target = torch.tensor([0.0, 1.0], requires_grad=True)
    loss = F.kl_div(torch.zeros(2), target, reduction="sum")
    assert loss.item() == 0
    loss.backward()
    assert target.grad.tolist() == [0, 1]


def test_the_distance_of_equal_points_has_no_slope():
    x = torch.zeros(2, 3, requires_grad=True)
    torch.cdist(x, torch.zeros(2, 3)).sum().backward()
    F.pdist(x).sum().backward()
    assert x.grad.tolist() == [[0] * 3] * 2


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, math.inf])
def test_distances_are_norms_of_differences(p):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 5, 3))
    differences = np.abs(a[:, :, None] - b[:, None])
    if p == 0:
        expected = (differences != 0).sum(-1)
    elif math.isinf(p):
        expected = differences.max(-1)
    else:
        expected = (differences**p).sum(-1) ** (1 / p)
    assert np.allclose(torch.cdist(torch.tensor(a), torch.tensor(b), p).numpy(), expected)
    pairs = torch.pdist(torch.tensor(a[0]), p).numpy()
    whole = torch.cdist(torch.tensor(a[0]), torch.tensor(a[0]), p).numpy()
    assert np.allclose(pairs, whole[np.triu_indices(4, 1)])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("p", "margin"), [(1, 1.0), (2, 0.5), (1, -0.2)])
def test_multi_margin_loss_is_what_the_target_lacks_to_each_other_class(p, margin, weighted):
    rng = np.random.default_rng(3)
    scores, labels, weights = rng.normal(size=(5, 4)), np.array([0, 3, 1, 1, 2]), rng.uniform(1, 2, 4)
    x = torch.tensor(scores, requires_grad=True)
    weight = torch.tensor(weights) if weighted else None
    expected, slope = np.zeros(5), np.zeros_like(scores)
    for row, label in enumerate(labels):
        for other in set(range(4)) - {int(label)}:
            lack = max(0.0, margin - scores[row, label] + scores[row, other])
            scale = (weights[label] if weighted else 1) / 4
            expected[row] += scale * lack**p
            step = scale * (lack > 0) * p * lack ** (p - 1)
            slope[row, other] += step
            slope[row, label] -= step
    call = functools.partial(F.multi_margin_loss, x, torch.tensor(labels), p, margin, weight)
    np.testing.assert_allclose(call(reduction="none").detach().numpy(), expected)
    np.testing.assert_allclose(call(reduction="sum").item(), expected.sum())
    loss = call()
    np.testing.assert_allclose(loss.item(), expected.mean())
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), slope / 5, atol=1e-12)


def test_one_sample_of_multi_margin_loss_has_the_shape_of_its_target():
    x = torch.tensor([0.1, 0.7, 0.4])
    one = F.multi_margin_loss(x, torch.tensor(1), reduction="none")
    same = F.multi_margin_loss(x, torch.tensor([1]), reduction="none")
    assert one.shape == () and same.shape == (1,) and one.item() == same.item()


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, math.inf])
def test_pairwise_distances_are_norms_of_differences(p):
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(4, 5)), rng.normal(size=(1, 5))
    x = torch.tensor(a, requires_grad=True)
    distances = F.pairwise_distance(x, torch.tensor(b), p, 0.0, keepdim=True)
    np.testing.assert_allclose(distances.detach().numpy()[:, 0], np.linalg.norm(a - b, p, axis=1))
    torch.autograd.gradcheck(lambda v: F.pairwise_distance(v, torch.tensor(b), p), (x,))


def test_vectors_of_any_length_have_a_cosine():
    x = torch.tensor([[3e30, 4e30], [3e-30, 4e-30], [0.0, 0.0]])
    y = torch.tensor([[4e30, 3e30], [4e30, 3e30], [1.0, 2.0]])
    np.testing.assert_allclose(F.cosine_similarity(x, y, eps=0.0)[:2].numpy(), [0.96, 0.96], rtol=1e-5)
    short = x[2:].clone().requires_grad_()
    cosine = F.cosine_similarity(short, y[2:])
    cosine.backward()
    assert cosine.item() == 0
    np.testing.assert_allclose(short.grad.numpy(), [[1e8 / 5**0.5, 2e8 / 5**0.5]], rtol=1e-5)
    with pytest.raises(RuntimeError, match="yet common dtype is Long"):
        F.cosine_similarity(torch.ones(2, 2, dtype=torch.int64), torch.ones(2, 2, dtype=torch.int64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, math.inf])
def test_slopes_of_distances_gather_those_of_all_pairs(p, dtype):
    rng = np.random.default_rng(1)
    a, weights = rng.normal(size=(7, 37)), rng.normal(size=21)
    a[4] = a[2]  # no slope
    points = torch.tensor(a, dtype=dtype, requires_grad=True)
    torch.pdist(points, p).backward(torch.tensor(weights, dtype=dtype))
    expected = np.zeros_like(a)
    for weight, i, j in zip(weights, *np.triu_indices(7, 1), strict=True):
        difference = a[i] - a[j]
        sizes = np.abs(difference)
        if p == 0 or not sizes.any():
            continue
        if math.isinf(p):
            slope = np.sign(difference) * (sizes == sizes.max())
        else:
            slope = np.sign(difference) * (sizes / (sizes**p).sum() ** (1 / p)) ** (p - 1)
        expected[i] += weight * slope
        expected[j] -= weight * slope
    tolerance = 1e-4 if dtype == torch.float32 else 1e-10
    np.testing.assert_allclose(points.grad.numpy(), expected, rtol=tolerance, atol=tolerance)
    rows = torch.tensor(a, dtype=dtype, requires_grad=True)
    others = torch.tensor(a, dtype=dtype)
    full = torch.tensor(rng.normal(size=(7, 7)), dtype=dtype)
    full = full + full.T
    torch.cdist(rows, others, p).backward(full)
    points.grad = None
    torch.pdist(points, p).backward(torch.tensor(full.numpy()[np.triu_indices(7, 1)]))
    np.testing.assert_allclose(points.grad.numpy(), rows.grad.numpy(), rtol=tolerance, atol=tolerance)


def ctc_by_enumeration(probabilities, labels):
    """The sum over all paths that collapse to the labels."""
    steps, classes = probabilities.shape
    total = 0.0
    for path in np.ndindex(*[classes] * steps):
        kept = [c for i, c in enumerate(path) if c != 0 and (i == 0 or path[i - 1] != c)]
        if kept == labels:
            total += np.prod([probabilities[t, c] for t, c in enumerate(path)])
    return -math.log(total)


@pytest.mark.parametrize("labels", [[1], [1, 2], [1, 1], [2, 1]])
def test_ctc_sums_over_all_alignments(labels):
    rng = np.random.default_rng(1)
    scores = torch.tensor(rng.normal(size=(4, 1, 3)))
    log_probs = scores.log_softmax(2)
    loss = F.ctc_loss(log_probs, torch.tensor([labels]), [4], [len(labels)], reduction="sum")
    assert loss.item() == pytest.approx(ctc_by_enumeration(log_probs.exp().numpy()[:, 0], labels))


@pytest.mark.parametrize("lengths", [(0, 1, 5), (2, 0, 4), (7, 6, 1)])
def test_ctc_of_samples_of_their_own_lengths_has_the_slope_of_its_values(lengths):
    rng = np.random.default_rng(sum(lengths))
    scores = torch.tensor(rng.normal(size=(12, 3, 5)), requires_grad=True)
    targets = torch.tensor(rng.integers(1, 5, (3, 7)))

    def loss(x):
        return F.ctc_loss(
            x.log_softmax(2), targets, (12, 9, 11), lengths, reduction="sum", zero_infinity=True
        )

    torch.autograd.gradcheck(loss, (scores,))
    narrow = scores.detach().float().requires_grad_()
    loss(scores).backward()
    loss(narrow).backward()
    np.testing.assert_allclose(narrow.grad.numpy(), scores.grad.numpy(), rtol=1e-4, atol=1e-5)
    by_class = scores.detach().permute(2, 1, 0).contiguous().permute(2, 1, 0)
    assert loss(by_class).item() == pytest.approx(loss(scores).item())


def test_the_slope_of_an_impossible_target_is_nan():
    log_probs = torch.zeros(1, 1, 3).log_softmax(2).requires_grad_()
    F.ctc_loss(log_probs, torch.tensor([[1, 2]]), (1,), (2,), reduction="sum").backward()
    assert log_probs.grad.isnan().all()


def test_ctc_of_an_impossible_target_is_infinite_or_left_out():
    log_probs = torch.zeros(1, 1, 3).log_softmax(2).requires_grad_()
    target = torch.tensor([[1, 2]])
    assert math.isinf(F.ctc_loss(log_probs, target, (1,), (2,), reduction="sum").item())
    loss = F.ctc_loss(log_probs, target, (1,), (2,), reduction="sum", zero_infinity=True)
    loss.backward()
    assert loss.item() == 0 and log_probs.grad.tolist() == [[[0, 0, 0]]]


@pytest.mark.parametrize(
    "targets, inputs, lengths, blank, message",
    [
        (torch.ones(2, 2, dtype=torch.int64), (4, 5), (2, 2), 0, "at most 4, but got value 5"),
        (torch.ones(2, 2, dtype=torch.int64), (4, 4), (2, 3), 0, "size at least 3 at dimension 1"),
        (torch.ones(2, 2, dtype=torch.int64), (4, 4), (2,), 0, "target_lengths must be of size batch_size"),
        (torch.ones(2, 2, dtype=torch.int64), (4, 4), (2, 2), 3, "blank must be in label range"),
        (torch.ones(3, dtype=torch.int64), (4, 4), (2, 2), 0, "size 4 at dimension 0, but got size 3"),
    ],
)
def test_ctc_refuses_lengths_that_are_not_there(targets, inputs, lengths, blank, message):
    with pytest.raises(RuntimeError, match=message):
        F.ctc_loss(torch.zeros(4, 2, 3), targets, inputs, lengths, blank)


def test_ctc_refuses_labels_that_are_no_classes():
    with pytest.raises(IndexError, match="out of bounds"):
        F.ctc_loss(torch.zeros(4, 1, 3), torch.tensor([[1, 7]]), (4,), (2,))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x, y: F.smooth_l1_loss(x, y, beta=-1), RuntimeError, "negative values for beta"),
        (lambda x, y: F.huber_loss(x, y, delta=0), RuntimeError, "non-positive values for delta"),
        (lambda x, y: F.l1_loss(x, y, weight=x[0]), ValueError, "Weights and input must have the same size"),
        (lambda x, y: F.binary_cross_entropy(x, y[0]), ValueError, "Using a target size"),
        (lambda x, y: F.binary_cross_entropy(x * 3, y), RuntimeError, "all elements of input should be"),
        (lambda x, y: F.gaussian_nll_loss(x, y, -x), ValueError, "var has negative entry"),
        (lambda x, y: F.gaussian_nll_loss(x, y, torch.ones(5)), ValueError, "var is of incorrect size"),
        (lambda x, y: F.poisson_nll_loss(x, y, reduction="all"), ValueError, "all is not a valid value"),
        (lambda x, y: F.margin_ranking_loss(x, y, x[0]), RuntimeError, "should have same dimension"),
        (lambda x, y: F.cosine_embedding_loss(x, y, x), RuntimeError, "0D or 1D target tensor expected"),
        (lambda x, y: F.triplet_margin_loss(x, y, x, margin=-1), ValueError, "margin must be greater than 0"),
        (lambda x, y: F.multi_margin_loss(x, torch.tensor([0, 9])), RuntimeError, "target out of range"),
        (
            lambda x, y: F.multi_margin_loss(x, torch.tensor([0, 1]), p=3),
            ValueError,
            "only p == 1 and p == 2",
        ),
        (
            lambda x, y: F.multilabel_margin_loss(x, torch.tensor([[0, 9, -1]] * 2)),
            RuntimeError,
            "is out of range",
        ),
        (lambda x, y: torch.cdist(x, y[:, :2]), RuntimeError, "the same number of columns"),
        (lambda x, y: torch.cdist(x[0], y), RuntimeError, "at least 2D tensors, X1 got: 1D"),
        (lambda x, y: torch.cdist(x, y, -1.0), RuntimeError, "non-negative p values"),
        (
            lambda x, y: torch.cdist(x, y, compute_mode="fast"),
            ValueError,
            "not a valid value for compute_mode",
        ),
        (lambda x, y: F.pdist(x[0]), RuntimeError, "pdist only supports 2D tensors"),
    ],
)
def test_losses_refuse_what_they_cannot_mean(call, error, message):
    x = torch.tensor([[0.2, 0.4, 0.9], [0.1, 0.5, 0.3]])
    with pytest.raises(error, match=message):
        call(x, x.flip(0))


def test_a_target_of_another_size_is_worth_a_warning():
    with pytest.warns(UserWarning, match="Using a target size"):
        F.l1_loss(torch.zeros(2, 3), torch.zeros(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F.l1_loss(torch.zeros(3), torch.zeros(3))


def _losses(x, t):
    """Of numpy arrays, element by element, in double: the loss and its slope by x."""
    gap, size = x - t, np.abs(x - t)
    return {
        "mse_loss": (gap**2, 2 * gap),
        "smooth_l1_loss": (
            np.where(size < 0.7, 0.5 * gap**2 / 0.7, size - 0.35),
            np.where(size < 0.7, gap / 0.7, np.sign(gap)),
        ),
        "huber_loss": (
            np.where(size <= 0.7, 0.5 * gap**2, 0.7 * (size - 0.35)),
            np.where(size <= 0.7, gap, 0.7 * np.sign(gap)),
        ),
    }


_WIDTHS = {"mse_loss": {}, "smooth_l1_loss": {"beta": 0.7}, "huber_loss": {"delta": 0.7}}


@pytest.mark.parametrize("name", _WIDTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("shape", [(1,), (7, 3), (1023,), (400, 333)])
def test_a_loss_and_its_slope_are_those_of_double_precision_rounded(name, dtype, shape):
    rng = np.random.default_rng(1)
    x, t = (torch.tensor(rng.normal(size=shape)).to(getattr(torch, dtype)).requires_grad_() for _ in range(2))
    values, slopes = _losses(x.detach().double().numpy(), t.detach().double().numpy())[name]
    loss = getattr(F, name)
    eps = torch.finfo(x.dtype).eps
    each = loss(x, t, reduction="none", **_WIDTHS[name])
    assert np.allclose(each.detach().double().numpy(), values, rtol=4 * eps, atol=4 * eps)
    for reduction, total, share in (("sum", values.sum(), 1), ("mean", values.mean(), 1 / values.size)):
        reduced = loss(x, t, reduction=reduction, **_WIDTHS[name])
        assert reduced.item() == pytest.approx(total, rel=2 * eps)
        dx, dt = torch.autograd.grad(reduced, [x, t])
        assert np.allclose(dx.double().numpy(), slopes * share, rtol=4 * eps, atol=4 * eps * share)
        assert dt.tolist() == (-dx).tolist()


@pytest.mark.parametrize("name", _WIDTHS)
def test_a_loss_broadcasts_and_takes_any_strides(name):
    rng = np.random.default_rng(2)
    x, t = rng.normal(size=(5, 6)), rng.normal(size=(6,))
    values = _losses(x, t)[name][0]
    turned = torch.tensor(np.ascontiguousarray(x.T)).t()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        each = getattr(F, name)(turned, torch.tensor(t), reduction="none", **_WIDTHS[name])
        mean = getattr(F, name)(turned, torch.tensor(t), **_WIDTHS[name])
    assert np.allclose(each.numpy(), values) and mean.item() == pytest.approx(values.mean())


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", [*_WIDTHS, "binary_cross_entropy"])
def test_losses_have_second_derivatives_and_tangents(name, reduction):
    rng = np.random.default_rng(3)
    x, t = (torch.tensor(rng.uniform(0.1, 0.9, (2, 3))).requires_grad_() for _ in range(2))

    def loss(x, t):
        return getattr(F, name)(x, t, reduction=reduction, **_WIDTHS.get(name, {}))

    assert torch.autograd.gradcheck(loss, [x, t], check_forward_ad=True)
    assert torch.autograd.gradgradcheck(loss, [x, t])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", [*_WIDTHS, "binary_cross_entropy"])
def test_losses_and_gradients_of_a_batch_are_those_of_its_slices(name, reduction):
    rng = np.random.default_rng(4)
    x, t = (torch.tensor(rng.uniform(0.1, 0.9, (4, 2, 3))) for _ in range(2))
    weights = torch.tensor(rng.uniform(0.1, 0.9, (2, 3)))

    def loss(x, t):
        return (getattr(F, name)(x, t, reduction=reduction, **_WIDTHS.get(name, {})) * weights).sum()

    for function in (loss, torch.func.grad(loss)):
        together = torch.vmap(function)(x, t)
        one_by_one = torch.stack([function(a, b) for a, b in zip(x, t, strict=True)])
        assert np.allclose(together.numpy(), one_by_one.numpy())
        shared = torch.vmap(function, in_dims=(0, None))(x, t[0])
        assert np.allclose(shared.numpy(), torch.stack([function(a, t[0]) for a in x]).numpy())


def test_the_cross_entropy_of_probabilities_is_weighted():
    rng = np.random.default_rng(5)
    x, t, w = rng.uniform(0.1, 0.9, (600, 5)), rng.uniform(0.1, 0.9, (600, 5)), rng.uniform(0.1, 0.9, 5)
    expected = -(t * np.log(x) + (1 - t) * np.log1p(-x)) * w
    given = torch.tensor(x, requires_grad=True)
    loss = F.binary_cross_entropy(given, torch.tensor(t), torch.tensor(w))
    assert loss.item() == pytest.approx(expected.mean())
    loss.backward()
    assert np.allclose(given.grad.numpy(), (x - t) / (x * (1 - x)) * w / x.size)


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
def test_distances_of_many_points_are_the_same_by_products_and_by_differences(mode):
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(2, 40, 7)), rng.normal(size=(2, 33, 7))
    x, y = (torch.tensor(v, requires_grad=True) for v in (a, b))
    differences = a[:, :, None] - b[:, None]
    expected = np.sqrt((differences**2).sum(-1))
    found = torch.cdist(x, y, compute_mode=mode)
    assert np.allclose(found.detach().numpy(), expected)
    pull = rng.normal(size=expected.shape)
    dx, dy = torch.autograd.grad(found, [x, y], torch.tensor(pull))
    shares = differences * (pull / expected)[..., None]
    assert np.allclose(dx.numpy(), shares.sum(2)) and np.allclose(dy.numpy(), -shares.sum(1))


def test_the_entropy_of_scores_is_in_the_dtype_of_the_target_and_its_weights_have_no_gradient():
    x, y = torch.zeros(3), torch.ones(3)
    assert F.binary_cross_entropy_with_logits(x, y.double()).dtype == torch.float64
    assert F.binary_cross_entropy_with_logits(x.double(), y).dtype == torch.float32
    for weights in ({"weight": y.clone().requires_grad_()}, {"pos_weight": y.clone().requires_grad_()}):
        with pytest.raises(
            RuntimeError, match=rf"not differentiable with respect to argument '{[*weights][0]}'"
        ):
            F.binary_cross_entropy_with_logits(x, y, **weights)


def test_the_slopes_of_the_entropy_of_scores_are_right_twice():
    x = torch.tensor([-2.0, 0.3, 1.5], dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0.2, 0.9, 0.5], dtype=torch.float64, requires_grad=True)
    weights = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64), torch.tensor([3.0], dtype=torch.float64)
    for weight, pos_weight in ((None, None), weights):
        for reduction in (0, 1, 2):

            def loss(x, target, weight=weight, pos_weight=pos_weight, reduction=reduction):
                return torch.binary_cross_entropy_with_logits(x, target, weight, pos_weight, reduction)

            assert torch.autograd.gradcheck(loss, (x, target))
            assert torch.autograd.gradgradcheck(loss, (x, target))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_the_likelihood_of_pictures_is_that_of_their_places(reduction):
    draw = np.random.default_rng(0)
    scores = torch.from_numpy(draw.standard_normal((2, 3, 4, 5)))
    target = torch.from_numpy(draw.integers(0, 3, (2, 4, 5)))
    target[0, 1, 2] = -100
    weight = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
    rows = scores.permute(0, 2, 3, 1).reshape(-1, 3).requires_grad_()
    wanted = F.nll_loss(rows, target.flatten(), weight, reduction=reduction)
    wanted.sum().backward()
    for layout in (torch.contiguous_format, torch.channels_last):
        x = scores.clone(memory_format=layout).requires_grad_()
        loss = F.nll_loss(x, target, weight, reduction=reduction)
        np.testing.assert_allclose(loss.detach().flatten(), wanted.detach().flatten(), rtol=1e-12)
        loss.sum().backward()
        np.testing.assert_allclose(x.grad.permute(0, 2, 3, 1).reshape(-1, 3), rows.grad, rtol=1e-12)
    flat = F.nll_loss(scores.reshape(2, 3, 20), target.reshape(2, 20), weight, reduction=reduction)
    np.testing.assert_allclose(flat.flatten(), wanted.detach().flatten(), rtol=1e-12)
    with pytest.raises(RuntimeError, match=r"Expected target size \[2, 20\], got \[2, 19\]"):
        torch._C._nn.nll_loss(scores.reshape(2, 3, 20), target.reshape(2, 20)[:, 1:])
    with pytest.raises(RuntimeError, match="only batches of spatial targets supported"):
        torch.nll_loss2d_forward(scores, target[0], None, 1, -100)


_FLAGS = torch.tensor([1.0, -1.0])
_PAIR = (torch.rand(2, 3), torch.rand(2, 3))
_BY_NUMBER = {
    "kl_div": _PAIR,
    "hinge_embedding_loss": _PAIR,
    "margin_ranking_loss": (*_PAIR, torch.ones(2, 3)),
    "cosine_embedding_loss": (*_PAIR, _FLAGS),
    "triplet_margin_loss": (*_PAIR, torch.rand(2, 3)),
    "binary_cross_entropy_with_logits": _PAIR,
    "ctc_loss": (torch.rand(4, 2, 3).log_softmax(-1), torch.ones(2, 1, dtype=torch.int64), [4, 4], [1, 1]),
    "nn.mse_loss": _PAIR,
    "nn.l1_loss": _PAIR,
    "nn.huber_loss": _PAIR,
    "nn.smooth_l1_loss": _PAIR,
    "nn.soft_margin_loss": _PAIR,
    "nn.binary_cross_entropy": _PAIR,
    "nn.nll_loss": (_PAIR[0], torch.tensor([0, 2])),
    "nn.nll_loss_nd": (_PAIR[0], torch.tensor([0, 2])),
    "nn.cross_entropy_loss": (_PAIR[0], torch.tensor([0, 2])),
    "nn.multi_margin_loss": (_PAIR[0], torch.tensor([0, 2])),
    "nn.multilabel_margin_loss": (_PAIR[0], torch.tensor([[0, -1, 1], [2, 1, 0]])),
}


@pytest.mark.parametrize("name", _BY_NUMBER)
def test_functions_whose_reduction_is_a_number_reduce_nothing_unless_they_are_told(name):
    arguments = _BY_NUMBER[name]
    module, _, function = name.rpartition(".")
    call = getattr(torch._C._nn if module else torch, function)
    each, mean, total = call(*arguments), call(*arguments, reduction=1), call(*arguments, reduction=2)
    assert each.ndim > 0 and mean.shape == total.shape == ()
    operator = getattr(torch.ops.aten, function)
    assert operator(*arguments) == mean  # whose default is the mean
    if function != "ctc_loss":  # whose mean is of losses over lengths
        np.testing.assert_allclose(each.sum(), total, rtol=1e-5)
        np.testing.assert_allclose(each.mean(), mean, rtol=1e-5)


_PICTURES = (torch.rand(2, 3, 2, 2), torch.ones(2, 2, 2, dtype=torch.int64))
_RUNNING = (torch.zeros(3), torch.ones(3))
_WITHOUT_GRADIENT = {
    "nll_loss_forward weight": lambda w: F.nll_loss(_PAIR[0], torch.tensor([0, 2]), w),
    "multi_margin_loss weight": lambda w: F.multi_margin_loss(_PAIR[0], torch.tensor([0, 2]), weight=w),
    "nll_loss2d_forward weight": lambda w: F.cross_entropy(*_PICTURES, w),
    "binary_cross_entropy weight": lambda w: F.binary_cross_entropy(*_PAIR, w),
    "binary_cross_entropy_with_logits weight": lambda w: torch.binary_cross_entropy_with_logits(*_PAIR, w),
    "binary_cross_entropy_with_logits pos_weight": lambda w: F.binary_cross_entropy_with_logits(
        *_PAIR, pos_weight=w
    ),
    "native_batch_norm running_mean": lambda w: F.batch_norm(_PAIR[0], w, _RUNNING[1], training=True),
    "native_batch_norm running_var": lambda w: F.batch_norm(_PAIR[0], _RUNNING[0], w),
    "fractional_max_pool2d random_samples": lambda w: F.fractional_max_pool2d(
        torch.rand(1, 1, 8, 8), 2, output_size=3, _random_samples=w[:2].reshape(1, 1, 2)
    ),
}


@pytest.mark.parametrize("name", _WITHOUT_GRADIENT)
def test_an_argument_that_gets_no_gradient_cannot_require_one(name):
    """A class weight that is learned would stay as it is, and nobody would hear of it."""
    function, argument = name.split()
    weight = torch.full((3,), 0.5, requires_grad=True)
    call = _WITHOUT_GRADIENT[name]
    with pytest.raises(
        RuntimeError, match=f"'{function}' is not differentiable with respect to argument '{argument}'"
    ):
        call(weight)
    call(weight.detach())
    with torch.no_grad():
        call(weight)
