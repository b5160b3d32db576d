"""Normalisations: running statistics, layouts, parameters and errors."""

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F


def numbers(*shape, seed=0, dtype=np.float32):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def test_layer_norm_standardises_rows_of_any_length_and_stride():
    for length in (1, 3, 64, 5000):
        x = numbers(4, length)
        for values in (x, x.t().contiguous().t()):
            y = F.layer_norm(values, (length,)).numpy()
            n = x.numpy().astype(np.float64)
            expected = (n - n.mean(1, keepdims=True)) / np.sqrt(n.var(1, keepdims=True) + 1e-5)
            np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_layer_norm_keeps_statistics_in_the_parameters_dtype():
    x = numbers(2, 3, 4).to(torch.bfloat16)
    out, mean, rstd = torch.native_layer_norm(x, (4,), torch.ones(4), torch.ones(4), 1e-5)
    assert (out.dtype, mean.dtype, rstd.dtype) == (torch.bfloat16, torch.float32, torch.float32)
    assert mean.shape == (2, 3, 1)


def test_layer_norm_says_which_shape_it_wanted():
    with pytest.raises(
        RuntimeError, match=r"Given normalized_shape=\[5\], expected input with shape \[\*, 5\]"
    ):
        F.layer_norm(torch.ones(4, 6), (5,))
    with pytest.raises(RuntimeError, match="Expected weight to be of same shape as normalized_shape"):
        F.layer_norm(torch.ones(4, 6), (6,), torch.ones(5))
    with pytest.raises(RuntimeError, match="at least 1-dimensional"):
        F.layer_norm(torch.ones(4, 6), ())
    with pytest.raises(RuntimeError, match="mixed dtype"):
        F.layer_norm(torch.ones(4, 6), (6,), torch.ones(6, dtype=torch.float64))


@pytest.mark.parametrize(
    "norm",
    [
        lambda x, w, b: F.layer_norm(x.transpose(1, 2), (4,), w, b),
        lambda x, w, b: F.group_norm(x, 2, w, b),
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        lambda x, w, b: F.batch_norm(x, torch.zeros_like(w), torch.ones_like(w), w, b, False),
        lambda x, w, b: F.instance_norm(x, None, None, w, b),
    ],
    ids=["layer", "group", "batch", "batch_eval", "instance"],
)
def test_gradients_by_the_kernel_and_by_formulas_agree(norm):
    leaves = [
        numbers(3, 4, 5, dtype=np.float64),
        numbers(4, seed=1, dtype=np.float64),
        torch.ones(4).double(),
    ]
    leaves = [leaf.requires_grad_() for leaf in leaves]
    loss = (norm(*leaves) * numbers(60, seed=2, dtype=np.float64).reshape(norm(*leaves).shape)).sum()
    composed = torch.autograd.grad(loss, leaves, create_graph=True)
    fast = torch.autograd.grad(loss, leaves)
    for a, b in zip(fast, composed, strict=True):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-12)
    torch.autograd.grad(sum(g.square().sum() for g in composed), leaves[:2])


def test_training_moves_the_running_statistics_with_the_unbiased_variance():
    x, mean, variance = numbers(6, 3, 5), torch.zeros(3), torch.ones(3)
    F.batch_norm(x, mean, variance, training=True, momentum=0.25)
    seen = x.numpy().transpose(1, 0, 2).reshape(3, -1)
    np.testing.assert_allclose(mean.numpy(), 0.25 * seen.mean(1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(variance.numpy(), 0.75 + 0.25 * seen.var(1, ddof=1), rtol=1e-5)


def test_evaluation_leaves_the_running_statistics_alone():
    mean, variance = torch.ones(3), torch.full((3,), 4.0)
    y = F.batch_norm(torch.full((2, 3), 5.0), mean, variance, eps=0.0)
    assert y.tolist() == [[2.0] * 3] * 2 and mean.tolist() == [1.0] * 3


def test_batch_norm_of_channels_last_keeps_the_layout_and_the_values():
    x = numbers(2, 3, 4, 5)
    last = x.clone(memory_format=torch.channels_last)
    y = F.batch_norm(last, None, None, training=True)
    assert y.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_allclose(y.numpy(), F.batch_norm(x, None, None, training=True).numpy(), atol=1e-6)


def test_batch_norm_refuses_what_has_no_statistics():
    with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
        F.batch_norm(torch.ones(1, 3), None, None, training=True)
    with pytest.raises(RuntimeError, match="running_mean must be defined in evaluation mode"):
        F.batch_norm(torch.ones(2, 3), None, None)
    with pytest.raises(RuntimeError, match="running_mean should contain 3 elements not 4"):
        F.batch_norm(torch.ones(2, 3), torch.zeros(4), torch.zeros(4))
    with pytest.raises(ValueError, match="must either both be None or neither"):
        F.batch_norm(torch.ones(2, 3), torch.zeros(3), None, training=True)


def test_an_empty_batch_teaches_nothing():
    mean = torch.ones(3)
    assert F.batch_norm(torch.empty(0, 3), mean, torch.ones(3), training=True).shape == (0, 3)
    assert mean.tolist() == [1.0] * 3


def test_group_norm_checks_its_groups():
    with pytest.raises(RuntimeError, match="divisible by num_groups"):
        F.group_norm(torch.ones(4, 6), 4)
    with pytest.raises(RuntimeError, match="vector of size equal to the number of channels"):
        F.group_norm(torch.ones(4, 6), 3, torch.ones(3))
    with pytest.raises(RuntimeError, match="does not match an input"):
        torch.native_group_norm(torch.ones(2, 6), None, None, 2, 6, 5, 3, 1e-5)


def test_instance_norm_averages_the_statistics_of_the_samples():
    x, mean, variance = numbers(4, 3, 6), torch.zeros(3), torch.ones(3)
    F.instance_norm(x, mean, variance, momentum=0.5)
    np.testing.assert_allclose(mean.numpy(), 0.5 * x.numpy().mean((0, 2)), atol=1e-6)


def test_rms_norm_divides_by_the_root_of_the_mean_square():
    x = numbers(3, 8)
    expected = x.numpy() / np.sqrt((x.numpy() ** 2).mean(1, keepdims=True) + 0.5)
    np.testing.assert_allclose(F.rms_norm(x, (8,), eps=0.5).numpy(), expected, rtol=1e-5)


def test_normalize_divides_by_eps_where_the_norm_is_smaller():
    assert F.normalize(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist() == [
        [0.6000000238418579, 0.800000011920929],
        [0, 0],
    ]


def test_normalisations_on_meta_have_shapes_only():
    x = torch.empty(2, 6, 5, device="meta")
    assert F.layer_norm(x, (5,)).device.type == "meta"
    assert torch.native_group_norm(x, None, None, 2, 6, 5, 3, 1e-5)[1].shape == (2, 3)
    assert torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[1].shape == (6,)
