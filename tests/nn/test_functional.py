"""Functions and losses; the expected numbers are PyTorch 2.13's."""

import inspect
import math
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn import functional as F

LOGITS = [[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]]


def logits(**options):
    return torch.tensor(LOGITS, **options)


def close(tensor, expected):
    difference = (tensor - torch.tensor(expected, dtype=tensor.dtype)).abs()
    return difference.max().item() < 1e-5


def test_linear_is_an_affine_map():
    x, w, b = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [5.0, 6.0]]), torch.tensor([0.5, -0.5])
    assert F.linear(x, w).tolist() == [[11.0, 17.0]]
    assert F.linear(x, w, b).tolist() == [[11.5, 16.5]]
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        F.linear(torch.ones(3, 4), torch.ones(3, 3))


def test_relu_may_work_in_place():
    x = torch.tensor([-1.0, 2.0])
    assert F.relu(x) is not x and x.tolist() == [-1.0, 2.0]
    assert nn.ReLU(inplace=True)(x) is x and x.tolist() == [0.0, 2.0]


def test_softmax_sums_to_one_along_its_dimension():
    assert F.softmax(logits(), dim=1).sum(1).tolist() == pytest.approx([1.0, 1.0])
    assert close(F.log_softmax(logits(), dim=1).exp().sum(1), [1.0, 1.0])
    assert F.softmax(logits(), dim=0, dtype=torch.float64).dtype == torch.float64


def test_softmax_without_a_dimension_warns():
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated"):
        assert F.softmax(logits()).sum(1).tolist() == pytest.approx([1.0, 1.0])
    with pytest.warns(UserWarning, match="Implicit dimension choice for log_softmax"):
        F.log_softmax(torch.zeros(3))


def test_dropout_keeps_the_mean_in_training_and_the_input_otherwise():
    torch.manual_seed(0)
    x = torch.ones(10_000)
    dropped = F.dropout(x, 0.25)
    assert {round(value, 4) for value in set(dropped.tolist())} == {0.0, round(1 / 0.75, 4)}
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.05)
    assert F.dropout(x, 0.5, training=False) is x and F.dropout(x, 0.0) is x
    assert F.dropout(x, 1.0).sum().item() == 0.0
    assert nn.Dropout().eval()(x) is x
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1, but got 1.5"):
        F.dropout(x, 1.5)


def test_dropout_passes_gradients_where_it_passed_values():
    torch.manual_seed(0)
    x = torch.ones(100, requires_grad=True)
    y = F.dropout(x, 0.5)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0.2651263),
        ({"reduction": "sum"}, 0.5302527),
        ({"reduction": "none"}, [0.4643688, 0.06588391]),
        ({"weight": [1.0, 2.0, 3.0]}, 0.2252779),
        ({"ignore_index": 2}, 0.4643688),
        ({"label_smoothing": 0.1}, 0.4234597),
        ({"label_smoothing": 0.1, "weight": [1.0, 2.0, 3.0]}, 0.3339602),
        ({"label_smoothing": 0.1, "ignore_index": 2, "reduction": "sum"}, 0.5477021),
        ({"label_smoothing": 0.1, "weight": [1.0, 2.0, 3.0], "ignore_index": 1}, 0.18591),
        ({"label_smoothing": 0.1, "reduction": "none"}, [0.5477021, 0.2992173]),
    ],
)
def test_cross_entropy_of_classes(options, expected):
    if "weight" in options:
        options = {**options, "weight": torch.tensor(options["weight"])}
    loss = F.cross_entropy(logits(), torch.tensor([1, 2]), **options)
    assert close(loss, expected)


def test_cross_entropy_of_one_sample_and_of_images():
    assert close(F.cross_entropy(torch.tensor(LOGITS[0]), torch.tensor(1)), 0.4643688)
    image = logits().reshape(1, 2, 3).transpose(1, 2)  # (N, C, length)
    assert close(F.cross_entropy(image, torch.tensor([[1, 2]])), 0.2651263)
    assert close(F.cross_entropy(image, torch.tensor([[1, 2]]), reduction="none"), [[0.4643688, 0.06588391]])
    assert close(F.cross_entropy(image, torch.tensor([[1, 2]]), label_smoothing=0.1), 0.4234597)


def test_cross_entropy_of_probabilities():
    target = torch.tensor([[0.0, 1.0, 0.0], [0.25, 0.25, 0.5]])
    assert close(F.cross_entropy(logits(), target, reduction="none"), [0.4643688, 1.815884])
    assert close(F.cross_entropy(logits(), target, label_smoothing=0.1), 1.21096)
    assert close(F.cross_entropy(logits(), target, weight=torch.tensor([1.0, 2.0, 3.0])), 1.913488)
    with pytest.raises(RuntimeError, match="ignore_index is not supported for floating point target"):
        F.cross_entropy(logits(), target, ignore_index=1)


def test_cross_entropy_gradient_is_softmax_minus_target():
    x = logits(requires_grad=True)
    F.cross_entropy(x, torch.tensor([1, 2])).backward()
    expected = F.softmax(logits(), dim=1) - torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for got, want in zip(x.grad.tolist(), (expected / 2).tolist(), strict=True):
        assert got == pytest.approx(want, abs=1e-6)


def test_the_smoothed_loss_has_the_gradient_of_its_probabilities():
    smooth, probable = logits(requires_grad=True), logits(requires_grad=True)
    F.cross_entropy(smooth, torch.tensor([1, 2]), label_smoothing=0.3).backward()
    target = torch.tensor([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    F.cross_entropy(probable, target).backward()
    for ours, theirs in zip(smooth.grad.tolist(), probable.grad.tolist(), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-6)


def test_the_mean_of_nothing_is_nan():
    loss = F.cross_entropy(torch.zeros(2, 3), torch.tensor([-100, -100]))
    assert math.isnan(loss.item())


@pytest.mark.parametrize(
    ("target", "options", "error", "message"),
    [
        ([0], {}, ValueError, r"Expected input batch_size \(2\) to match target batch_size \(1\)"),
        ([0, 9], {}, IndexError, "Target 9 is out of bounds"),
        ([0, 1], {"reduction": "most"}, ValueError, "most is not a valid value for reduction"),
        (
            [0, 1],
            {"label_smoothing": 2.0},
            RuntimeError,
            r"label_smoothing must be between 0.0 and 1.0. Got: 2",
        ),
        ([[0, 1], [1, 0]], {}, RuntimeError, "multi-target not supported"),
    ],
)
def test_cross_entropy_refuses_bad_targets(target, options, error, message):
    with pytest.raises(error, match=message):
        F.cross_entropy(logits(), torch.tensor(target), **options)


def test_nll_loss_picks_log_probabilities():
    given = torch.tensor([[-1.0, -2.0], [-3.0, -4.0]])
    assert F.nll_loss(given, torch.tensor([1, 0])).item() == 2.5
    weighted = F.nll_loss(given, torch.tensor([1, 0]), weight=torch.tensor([1.0, 3.0]))
    assert weighted.item() == pytest.approx((3 * 2 + 3) / 4)
    assert nn.NLLLoss(reduction="sum")(given, torch.tensor([1, 0])).item() == 5.0


def test_mse_loss():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
    assert F.mse_loss(x, y).item() == 6.5
    assert nn.MSELoss(reduction="none")(x, y).tolist() == [4.0, 9.0]
    assert F.mse_loss(x, y, weight=torch.tensor([1.0, 3.0])).item() == pytest.approx(31 / 4)
    with pytest.warns(UserWarning, match="different to the input size"):
        F.mse_loss(torch.ones(2, 2), torch.ones(2))


def test_the_old_arguments_still_choose_the_reduction():
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        loss = F.mse_loss(torch.zeros(2), torch.ones(2), size_average=False)
    assert loss.item() == 2.0


def test_a_loss_moves_its_weights_with_it():
    loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0])).double()
    assert loss.weight.dtype == torch.float64 and list(loss.state_dict()) == ["weight"]
    assert close(loss(logits(dtype=torch.float64), torch.tensor([1, 2])), 0.2252779)


# --- functions written once for several dimensions


@pytest.mark.parametrize(
    "name", ["max_pool1d", "avg_pool3d", "lp_pool2d", "max_unpool2d", "adaptive_max_pool3d"]
)
def test_a_pool_is_a_function_with_a_name_of_its_own(name):
    pool = getattr(F, name)
    assert pool.__name__ == pool.__qualname__ == name and pickle.loads(pickle.dumps(pool)) is pool
    assert not [argument for argument in inspect.signature(pool).parameters if argument.startswith("_")]
    with pytest.raises(TypeError, match=rf"{name}\(\) missing \d required positional argument"):
        pool()


def test_only_the_pools_named_so_give_indices_unasked():
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    values, places = F.max_pool2d_with_indices(image, 2)
    assert F.max_pool2d(image, 2).tolist() == values.tolist() == [[[[5.0, 7.0], [13.0, 15.0]]]]
    assert places.tolist() == F.max_pool2d(image, 2, return_indices=True)[1].tolist()
    assert F.adaptive_max_pool2d_with_indices(image, (1, None))[1].tolist() == [[[[12, 13, 14, 15]]]]
    assert F.adaptive_max_pool2d(image, 1).item() == 15.0


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("last", [False, True])
def test_bags_on_meta_have_the_shape_and_the_gradients_of_bags_elsewhere(mode, padding, last):
    def made(device):
        table = torch.ones(6, 3, device=device, requires_grad=True)
        rows = torch.tensor([1, 2, 5, 1, 3], device=device)
        ends = torch.tensor([0, 2, 4], device=device)
        found = torch.nn.functional.embedding_bag(
            rows, table, ends, mode=mode, padding_idx=padding, include_last_offset=last
        )
        (grad,) = torch.autograd.grad(found.sum(), table)
        return found.shape, grad.shape, found.device.type, grad.device.type

    assert made("cpu") == ((2 if last else 3, 3), (6, 3), "cpu", "cpu")
    assert made("meta") == ((2 if last else 3, 3), (6, 3), "meta", "meta")


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("mse_loss", (1,)),
        ("smooth_l1_loss", (1, 1.0)),
        ("huber_loss", (1, 1.0)),
        ("binary_cross_entropy", (None, 1)),
    ],
)
def test_a_gradient_that_is_larger_than_its_loss_is_refused(name, more):
    backward = getattr(torch.ops.aten, f"{name}_backward")
    for shape in ((), (3,)):
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            backward(torch.ones(3, 1), torch.full(shape, 0.3), torch.zeros(shape), *more)
    assert backward(torch.ones(1), torch.full((3,), 0.3), torch.zeros(3), *more).shape == (3,)
