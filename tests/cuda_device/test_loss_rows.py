"""Rows that samples do not reach, beside the host with their gradients: losses of pictures and of scores, glu, bags."""

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F

NEAR = {torch.float64: 1e-10, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}


def check(function, *given, **others):
    """The function of leaves and other tensors, and the gradients of leaves; on both devices."""
    sides = []
    for device in ("cpu", "cuda"):
        leaves = [t.to(device).requires_grad_() for t in given]
        rest = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in others.items()}
        made = function(*leaves, **rest)
        gradients = torch.autograd.grad(made.float().square().sum(), leaves)
        sides.append([t.detach().cpu().double() for t in (made, *gradients)])
    near = NEAR[given[0].dtype]
    for wanted, got in zip(*sides, strict=True):
        far = near * max(1.0, float(wanted.abs().max()))
        torch.testing.assert_close(got, wanted, rtol=near, atol=far)


@pytest.fixture(autouse=True)
def same_numbers():
    torch.manual_seed(0)


# The sum over the last one is beyond float16's largest number.
PICTURES = [(3, 5, 7, 6), (2, 5, 3, 2, 4), (4, 5), (2, 5, 100, 90)]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(
    "shape, dtype", [(s, d) for d in NEAR for s in (PICTURES[:-1] if d == torch.float16 else PICTURES)]
)
def test_likelihoods_of_pictures(shape, reduction, dtype):
    target = torch.randint(0, 5, (shape[0], *shape[2:]))
    target.view(-1)[1] = -100
    scores = torch.randn(shape).log_softmax(1).to(dtype)
    check(F.nll_loss, scores, target=target, weight=torch.rand(5).to(dtype), reduction=reduction)
    last = scores.movedim(1, -1).contiguous().movedim(-1, 1)
    check(F.cross_entropy, last, target=target, reduction=reduction, label_smoothing=0.1)


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_entropies_of_scores(weighted, reduction, dtype):
    scores, target = torch.randn(33, 7).to(dtype) * 4, torch.rand(33, 7).to(dtype)
    weights = (
        {"weight": torch.rand(33, 1).to(dtype), "pos_weight": torch.rand(7).to(dtype)} if weighted else {}
    )
    check(F.binary_cross_entropy_with_logits, scores, target, reduction=reduction, **weights)
    check(F.binary_cross_entropy_with_logits, scores.t(), target.t(), reduction=reduction)


@pytest.mark.parametrize("dtype", NEAR)
def test_gates_odds_and_bags(dtype):
    check(F.glu, torch.randn(6, 10).to(dtype))
    check(F.glu, torch.randn(6, 10).to(dtype), dim=0)
    check(lambda x: torch.logit(x, 0.1), torch.rand(50).to(dtype))
    check(lambda x: torch.logit(x), torch.rand(50).to(dtype) * 0.8 + 0.1)
    given = {"indices": torch.tensor([1, 4, 4, 2, 0]), "offsets": torch.tensor([0, 2, 2])}
    if dtype in (torch.float32, torch.float64):
        check(
            lambda weight, indices, offsets: F.embedding_bag(indices, weight, offsets, mode="sum"),
            torch.randn(5, 3).to(dtype),
            **given,
        )
        half = torch.randn(4, 4).to(dtype)
        check(torch.cholesky_inverse, torch.linalg.cholesky(half @ half.mT + torch.eye(4, dtype=dtype)))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_rows_of_complex_numbers(dtype):
    a, b = torch.randn(3, 40, dtype=dtype), torch.randn(3, 40, dtype=dtype)
    near = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.complex64 else {}
    for function in (
        lambda a, b: a / b,
        lambda a, b: a**b,
        lambda a, b: a.prod(1),
        lambda a, b: (a + b).mean(0),
        lambda a, b: a.cumsum(1),
        lambda a, b: torch.linalg.vector_norm(a, dim=1),
        lambda a, b: torch.sgn(a) * b.conj_physical(),
        lambda a, b: torch.where(a.real > 0, a, b),
    ):
        torch.testing.assert_close(function(a.cuda(), b.cuda()).cpu(), function(a, b), **near)
