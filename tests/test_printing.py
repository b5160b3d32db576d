"""Tensors as text. Every expected text is what PyTorch 2.13 prints."""

import pytest

import mindtorch_v2 as torch


@pytest.fixture(autouse=True)
def default_options():
    torch.set_printoptions(profile="default")
    yield
    torch.set_printoptions(profile="default")


inf, nan = float("inf"), float("nan")

CASES = [
    (lambda: torch.tensor(3), "tensor(3)"),
    (lambda: torch.tensor(2.5), "tensor(2.5000)"),
    (lambda: torch.tensor(True), "tensor(True)"),
    (lambda: torch.tensor([1, -20, 300]), "tensor([  1, -20, 300])"),
    (lambda: torch.tensor([1.0, 2.0, -3.0]), "tensor([ 1.,  2., -3.])"),
    (lambda: torch.tensor([1.5, 2.25, -3.125]), "tensor([ 1.5000,  2.2500, -3.1250])"),
    (lambda: torch.tensor([0.0, 0.0]), "tensor([0., 0.])"),
    (lambda: torch.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
    (lambda: torch.tensor([1e9, 2e9]), "tensor([1.0000e+09, 2.0000e+09])"),
    (lambda: torch.tensor([12345678.0, 1.0]), "tensor([1.2346e+07, 1.0000e+00])"),
    (lambda: torch.tensor([inf, 1.0, nan]), "tensor([inf, 1., nan])"),
    (lambda: torch.tensor([inf, 1.5, -inf]), "tensor([   inf, 1.5000,   -inf])"),
    (lambda: torch.tensor([nan]), "tensor([nan])"),
    (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
    (lambda: torch.tensor([1 + 2j, -0.5 - 1j]), "tensor([ 1.0000+2.j, -0.5000-1.j])"),
    (lambda: torch.tensor([1.5], dtype=torch.float64), "tensor([1.5000], dtype=torch.float64)"),
    (lambda: torch.tensor([1.1, 2.2], dtype=torch.float16), "tensor([1.0996, 2.1992], dtype=torch.float16)"),
    (
        lambda: torch.tensor([1.1, 2.2], dtype=torch.bfloat16),
        "tensor([1.1016, 2.2031], dtype=torch.bfloat16)",
    ),
    (lambda: torch.tensor([1, 2], dtype=torch.uint8), "tensor([1, 2], dtype=torch.uint8)"),
    (
        lambda: torch.tensor([[1.0, 2.0], [3.0, 4.5]]),
        ("tensor([[1.0000, 2.0000],\n        [3.0000, 4.5000]])"),
    ),
    (
        lambda: torch.arange(24).reshape(2, 3, 4),
        (
            "tensor([[[ 0,  1,  2,  3],\n"
            "         [ 4,  5,  6,  7],\n"
            "         [ 8,  9, 10, 11]],\n"
            "\n"
            "        [[12, 13, 14, 15],\n"
            "         [16, 17, 18, 19],\n"
            "         [20, 21, 22, 23]]])"
        ),
    ),
    (
        lambda: torch.arange(30),
        (
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])"
        ),
    ),
    (lambda: torch.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    (
        lambda: torch.arange(1200.0).reshape(40, 30),
        (
            "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 2.7000e+01, 2.8000e+01,\n"
            "         2.9000e+01],\n"
            "        [3.0000e+01, 3.1000e+01, 3.2000e+01,  ..., 5.7000e+01, 5.8000e+01,\n"
            "         5.9000e+01],\n"
            "        [6.0000e+01, 6.1000e+01, 6.2000e+01,  ..., 8.7000e+01, 8.8000e+01,\n"
            "         8.9000e+01],\n"
            "        ...,\n"
            "        [1.1100e+03, 1.1110e+03, 1.1120e+03,  ..., 1.1370e+03, 1.1380e+03,\n"
            "         1.1390e+03],\n"
            "        [1.1400e+03, 1.1410e+03, 1.1420e+03,  ..., 1.1670e+03, 1.1680e+03,\n"
            "         1.1690e+03],\n"
            "        [1.1700e+03, 1.1710e+03, 1.1720e+03,  ..., 1.1970e+03, 1.1980e+03,\n"
            "         1.1990e+03]])"
        ),
    ),
    (
        lambda: torch.zeros(11, 10, 10),
        (
            "tensor([[[0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         ...,\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.]],\n"
            "\n"
            "        [[0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         ...,\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.]],\n"
            "\n"
            "        [[0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         ...,\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.]],\n"
            "\n"
            "        ...,\n"
            "\n"
            "        [[0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         ...,\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.]],\n"
            "\n"
            "        [[0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         ...,\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.]],\n"
            "\n"
            "        [[0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         ...,\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "         [0., 0., 0.,  ..., 0., 0., 0.]]])"
        ),
    ),
    (lambda: torch.empty(0), "tensor([])"),
    (lambda: torch.empty(0, 3), "tensor([], size=(0, 3))"),
    (lambda: torch.empty(0, dtype=torch.int32), "tensor([], dtype=torch.int32)"),
    (lambda: torch.empty(2, 3, device="meta"), "tensor(..., device='meta', size=(2, 3))"),
    (
        lambda: torch.empty(2, device="meta", dtype=torch.int64),
        "tensor(..., device='meta', size=(2,), dtype=torch.int64)",
    ),
]


@pytest.mark.parametrize(("make", "text"), CASES)
def test_a_tensor_prints_as_in_pytorch(make, text):
    assert repr(make()) == text


OPTION_CASES = [
    ({"precision": 2}, lambda: torch.tensor([3.14159, 2.71828]), "tensor([3.14, 2.72])"),
    ({"sci_mode": True}, lambda: torch.tensor([3.14159, -2.71828]), "tensor([ 3.1416e+00, -2.7183e+00])"),
    ({"sci_mode": False}, lambda: torch.tensor([1e-5, 1.0]), "tensor([0.0000, 1.0000])"),
    ({"threshold": 5, "edgeitems": 1}, lambda: torch.arange(10), "tensor([0,  ..., 9])"),
    (
        {"threshold": 5, "edgeitems": 1},
        lambda: torch.arange(100.0).reshape(10, 10),
        ("tensor([[ 0.,  ...,  9.],\n        ...,\n        [90.,  ..., 99.]])"),
    ),
    (
        {"linewidth": 20},
        lambda: torch.arange(10),
        ("tensor([0, 1, 2, 3,\n        4, 5, 6, 7,\n        8, 9])"),
    ),
    ({"profile": "short"}, lambda: torch.tensor([3.14159]), "tensor([3.14])"),
    ({"threshold": 5, "edgeitems": 0}, lambda: torch.arange(10), "tensor([...], size=(10,))"),
]


@pytest.mark.parametrize(("options", "make", "text"), OPTION_CASES)
def test_print_options(options, make, text):
    torch.set_printoptions(**options)
    assert repr(make()) == text


def test_gradients_are_noted():
    x = torch.ones(2, requires_grad=True)
    assert repr(x) == "tensor([1., 1.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 2.], grad_fn=<MulBackward0>)"
    assert repr((x * 2).detach()) == "tensor([2., 2.])"


def test_a_suffix_that_does_not_fit_starts_a_line():
    x = torch.zeros(14, dtype=torch.float64, requires_grad=True)
    assert repr(x) == (
        "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],\n       dtype=torch.float64, "
        "requires_grad=True)"
    )


def test_the_default_dtype_is_not_named():
    torch.set_default_dtype(torch.float64)
    try:
        assert repr(torch.ones(1)) == "tensor([1.])"
        assert repr(torch.ones(1, dtype=torch.float32)) == "tensor([1.], dtype=torch.float32)"
    finally:
        torch.set_default_dtype(torch.float32)


def test_an_unknown_profile_is_refused():
    with pytest.raises(ValueError, match="fancy"):
        torch.set_printoptions(profile="fancy")


def test_a_device_is_named_and_only_the_edges_of_a_long_tensor_are_copied():
    x = torch.arange(1200.0, device="npu").reshape(40, 30)
    on_host = repr(x.cpu())
    assert repr(x) == on_host[:-1] + ", device='npu:0')"
    before = torch.npu.memory_stats()["allocated_bytes.all.allocated"]
    repr(x)
    used = torch.npu.memory_stats()["allocated_bytes.all.allocated"] - before
    assert used < x.nbytes
