"""Losses and their gradients."""

import torch
import torch.nn.functional as F

from .harness import FLOATS_AND_DOUBLE, OUT, AnyResult, case
from .reference import exact, gradients, rounded, wide

aten = torch.ops.aten
REDUCTIONS = ("none", "mean", "sum")
NOTHING = torch.empty(0)


def _sides(make, kind):
    """What a loss compares, and the function that gives it for a reduction."""
    x, t = make(4, 5), make(4, 5)
    if kind == "margin":
        t = t.sign()
    if kind == "probability":
        x, t = make(4, 5, low=0.05, high=0.95), make(4, 5, low=0, high=1)
    if kind == "distribution":
        t = make(4, 5, low=0, high=1)
        t[0, 0] = 0
    return x, t


# Forward, gradient, kind of operands, PyTorch's function of a reduction, what follows the reduction.
_LOSSES = {
    "square": (
        "aclnnMseLoss",
        "aclnnMseLossBackward",
        "any",
        lambda r: lambda x, t: F.mse_loss(x, t, reduction=r),
        [],
    ),
    "absolute": (
        "aclnnL1Loss",
        "aclnnL1LossBackward",
        "any",
        lambda r: lambda x, t: F.l1_loss(x, t, reduction=r),
        [],
    ),
    "smooth": (
        "aclnnSmoothL1Loss",
        "aclnnSmoothL1LossBackward",
        "any",
        lambda r: lambda x, t: F.smooth_l1_loss(x, t, reduction=r, beta=0.5),
        [0.5],
    ),
    "soft_margin": (
        "aclnnSoftMarginLoss",
        "aclnnSoftMarginLossBackward",
        "margin",
        lambda r: lambda x, t: F.soft_margin_loss(x, t, reduction=r),
        [],
    ),
    "divergence": (
        "aclnnKlDiv",
        "aclnnKlDivBackward",
        "distribution",
        lambda r: lambda x, t: aten.kl_div(x, t, REDUCTIONS.index(r)),
        [False],
    ),
    "log_divergence": (
        "aclnnKlDiv",
        "aclnnKlDivBackward",
        "any",
        lambda r: lambda x, t: aten.kl_div(x, t, REDUCTIONS.index(r), log_target=True),
        [True],
    ),
}


def _register(name, forward, backward, kind, function, more):
    def loss(make):
        x, t = _sides(make, kind)
        for number, reduction in enumerate(REDUCTIONS):
            yield [x, t, number, *more, OUT], exact(function(reduction), x, t, dtype=make.dtype)

    def gradient(make):
        x, t = _sides(make, kind)
        for number, reduction in enumerate(REDUCTIONS):
            loss_of = function(reduction)
            grad = make(*((4, 5) if reduction == "none" else ()))
            (wanted,) = gradients(lambda x, f=loss_of: f(x, wide(t)), grad, x, dtype=make.dtype)
            yield [grad, x, t, number, *more, OUT], wanted

    loss.__name__, gradient.__name__ = f"the_{name}_loss", f"the_gradient_of_the_{name}_loss"
    case(forward, dtypes=FLOATS_AND_DOUBLE, tolerance=4)(loss)
    case(backward, dtypes=FLOATS_AND_DOUBLE, tolerance=4)(gradient)


for _name, _row in _LOSSES.items():
    _register(_name, *_row)


@case("aclnnMseLossOut", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_square_loss_of_tensors_that_broadcast(make):
    x, t = make(4, 5), make(1, 5)
    wanted = exact(lambda x, t: (x - t).square().mean(), x, t, dtype=make.dtype)
    return [x, t, 1, OUT], wanted


@case("aclnnKlDivTargetBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def the_gradient_of_the_divergence_in_its_target(make):
    for log in (False, True):
        x, t = make(4, 5), make(4, 5, low=0.1, high=1)
        grad = make()
        (wanted,) = gradients(
            lambda t, x=x, log=log: aten.kl_div(wide(x), t, 1, log_target=log),
            grad,
            t,
            dtype=make.dtype,
        )
        yield [grad, x, t, 1, log, OUT], wanted


@case("aclnnBinaryCrossEntropy", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_cross_entropy_of_a_probability(make):
    (x, t), w = _sides(make, "probability"), make(4, 5, low=0, high=1)
    for number, reduction in enumerate(REDUCTIONS):
        for weight in (None, w):
            wanted = F.binary_cross_entropy(*map(wide, (x, t, weight)), reduction=reduction)
            yield [x, t, weight, number, OUT], wanted.to(make.dtype)


@case("aclnnBinaryCrossEntropyBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def the_gradient_of_the_cross_entropy_of_a_probability(make):
    (x, t), w = _sides(make, "probability"), make(4, 5, low=0, high=1)
    for number, reduction in enumerate(REDUCTIONS):
        grad = make(*((4, 5) if reduction == "none" else ()))
        wanted = aten.binary_cross_entropy_backward(*map(wide, (grad, x, t, w)), number)
        yield [grad, x, t, w, number, OUT], wanted.to(make.dtype)


def _logit_entropy(reduction, w, p):
    return lambda x, t: F.binary_cross_entropy_with_logits(
        x, t, wide(w), reduction=reduction, pos_weight=wide(p)
    )


@case("aclnnBinaryCrossEntropyWithLogits", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_cross_entropy_of_a_score(make):
    x, t, w, p = make(4, 5), make(4, 5, low=0, high=1), make(4, 5, low=0, high=1), make(5, low=0, high=1)
    for number, reduction in enumerate(REDUCTIONS):
        for weight, pos_weight in ((None, None), (w, p)):
            wanted = exact(_logit_entropy(reduction, weight, pos_weight), x, t, dtype=make.dtype)
            yield [x, t, weight, pos_weight, number, OUT], wanted


@case(
    "aclnnBinaryCrossEntropyWithLogitsBackward",
    "aclnnBinaryCrossEntropyWithLogitsTargetBackward",
    dtypes=FLOATS_AND_DOUBLE,
    tolerance=8,
)
def the_gradients_of_the_cross_entropy_of_a_score(make, operator):
    x, t, w, p = make(4, 5), make(4, 5, low=0, high=1), make(4, 5, low=0, high=1), make(5, low=0, high=1)
    for number, reduction in enumerate(REDUCTIONS):
        grad = make(*((4, 5) if reduction == "none" else ()))
        made = gradients(_logit_entropy(reduction, w, p), grad, x, t, dtype=make.dtype)
        yield [grad, x, t, w, p, number, OUT], made[1 if "Target" in operator else 0]


@case("aclnnHingeEmbeddingLoss", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_hinge_loss_of_distances(make):
    x, t = make(4, 5), make(4, 5).sign()
    for reduction in REDUCTIONS:
        wanted = exact(
            lambda x, t, r=reduction: F.hinge_embedding_loss(x, t, 1.5, reduction=r), x, t, dtype=make.dtype
        )
        yield [x, t, 1.5, reduction, OUT], wanted


@case("aclnnMultilabelMarginLoss", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_margin_of_several_classes(make):
    x = make(4, 5)
    t = torch.tensor([[3, 0, -1, 1, 2], [1, -1, 0, 0, 0], [2, 1, 0, 4, 3], [-1, 0, 0, 0, 0]])
    for number in range(3):
        out, marks = aten.multilabel_margin_loss_forward(wide(x), t, number)
        yield [x, t, number, OUT, OUT], (out.to(make.dtype), marks.bool())


_CLASSES = torch.tensor([1, 4, -100, 0])


@case("aclnnCrossEntropyLoss", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def cross_entropy_with_smoothed_targets(make):
    x, w = make(4, 5), make(5, low=0.1, high=1)
    log_probs = exact(lambda x: F.log_softmax(x, 1), x, dtype=make.dtype)
    for reduction in REDUCTIONS:
        for smoothing, weight in ((0.0, None), (0.1, w)):
            wanted = F.cross_entropy(
                wide(x), _CLASSES, wide(weight), reduction=reduction, label_smoothing=smoothing
            )
            yield (
                [x, _CLASSES, weight, reduction, -100, smoothing, 0.0, False, OUT, OUT, None, None],
                (wanted.to(make.dtype), log_probs),
            )


@case("aclnnCrossEntropyLossGrad", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def the_gradient_of_cross_entropy_with_smoothed_targets(make):
    x, w = make(4, 5), make(5, low=0.1, high=1)
    log_probs = exact(lambda x: F.log_softmax(x, 1), x, dtype=make.dtype)
    for reduction in REDUCTIONS:
        grad = make(*((4,) if reduction == "none" else ()))
        (wanted,) = gradients(
            lambda x, r=reduction: F.cross_entropy(x, _CLASSES, wide(w), reduction=r, label_smoothing=0.1),
            grad,
            x,
            dtype=make.dtype,
        )
        yield [grad, log_probs, _CLASSES, w, None, None, reduction, -100, 0.1, 0.0, OUT], wanted


def _pixels(make):
    classes = make.index(2, 3, 4, below=5)
    classes[0, 0, 0] = -100
    return make(2, 5, 3, 4), classes, make(5, low=0.1, high=1)


@case("aclnnNLLLoss2d", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_likelihood_of_the_classes_of_pixels(make):
    x, classes, w = _pixels(make)
    for number in range(3):
        made = aten.nll_loss2d_forward(wide(x), classes, wide(w), number, -100)
        yield [x, classes, w, number, -100, OUT, OUT], rounded(made, make.dtype)


@case("aclnnNLLLoss2dBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_gradient_of_the_likelihood_of_the_classes_of_pixels(make):
    x, classes, w = _pixels(make)
    for number in range(3):
        out, total = rounded(aten.nll_loss2d_forward(wide(x), classes, wide(w), number, -100), make.dtype)
        grad = make(*out.shape)
        wanted = aten.nll_loss2d_backward(*map(wide, (grad, x)), classes, wide(w), number, -100, wide(total))
        yield [grad, x, classes, w, number, -100, total, OUT], wanted.to(make.dtype)


def _alignment(make):
    log_probs = exact(lambda x: F.log_softmax(x, 2), make(6, 2, 5), dtype=make.dtype)
    return log_probs, make.index(2, 3, below=4) + 1, [6, 5], [3, 2]


@case("aclnnCtcLoss", dtypes=(torch.float32, torch.float64), tolerance=4)
def the_likelihood_of_an_alignment(make):
    problem = _alignment(make)
    loss, alpha = aten._ctc_loss(wide(problem[0]), *problem[1:], 0, False)
    return [*problem, 0, False, OUT, AnyResult(tuple(alpha.shape), make.dtype)], (
        loss.to(make.dtype),
        NOTHING,
    )


@case("aclnnCtcLossBackward", dtypes=(torch.float32, torch.float64), tolerance=8)
def the_gradient_of_the_likelihood_of_an_alignment(make):
    problem = _alignment(make)
    loss, alpha = aten._ctc_loss(problem[0], *problem[1:], 0, False)
    grad = make(2)
    wanted = aten._ctc_loss_backward(grad, *problem, loss, alpha, 0, False)
    return [grad, *problem, loss, alpha, 0, False, OUT], wanted


@case("aclnnNLLLoss", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_likelihood_of_classes(make):
    x, w = make(4, 5), make(5, low=0.1, high=1)
    for number in range(3):
        made = aten.nll_loss_forward(wide(x), _CLASSES, wide(w), number, -100)
        yield [x, _CLASSES, w, number, -100, OUT, OUT], rounded(made, make.dtype)


@case("aclnnNLLLossBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_gradient_of_the_likelihood_of_classes(make):
    x, w = make(4, 5), make(5, low=0.1, high=1)
    for number in range(3):
        out, total = rounded(aten.nll_loss_forward(wide(x), _CLASSES, wide(w), number, -100), make.dtype)
        grad = make(*out.shape)
        wanted = aten.nll_loss_backward(*map(wide, (grad, x)), _CLASSES, wide(w), number, -100, wide(total))
        yield [grad, x, _CLASSES, w, number, -100, total, OUT], wanted.to(make.dtype)
