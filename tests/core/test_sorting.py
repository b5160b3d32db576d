"""Sorting, selecting, searching and counting: what OpInfo does not show."""

import numpy as np
import pytest

import mindtorch_v2 as torch

NAN = float("nan")


def test_nan_is_the_largest():
    x = torch.tensor([1.0, NAN, -1.0, 2.0])
    assert x.sort()[1].tolist() == [2, 0, 3, 1]
    assert x.sort(descending=True)[1].tolist() == [1, 3, 0, 2]
    assert x.topk(2)[1].tolist() == [1, 3]
    assert x.topk(2, largest=False)[1].tolist() == [2, 0]
    assert x.median(0)[1].item() == 1
    assert x.nanmedian().item() == 1.0


@pytest.mark.parametrize("size", [2, 10, 60, 150, 287, 1000, 300000])
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.int64, torch.int16, torch.uint8, torch.bool]
)
@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_stable_for_every_dtype_and_length(size, dtype, descending):
    torch.manual_seed(0)
    x = torch.randint(-3 if dtype not in (torch.uint8, torch.bool) else 0, 200, (size,)).to(dtype)
    values, order = x.sort(descending=descending, stable=True)
    keys = x.numpy().astype(np.float64)
    wanted = np.argsort(-keys if descending else keys, kind="stable")
    np.testing.assert_array_equal(order.numpy(), wanted)
    np.testing.assert_array_equal(values.numpy(), x.numpy()[wanted])


@pytest.mark.parametrize("size", [3, 60, 280])
@pytest.mark.parametrize(
    "span", [0, 1, 2**20, 2**62]
)  # of keys, which fit into a word with their places or do not
def test_short_lines_of_any_span_are_sorted_in_stable_order(size, span):
    x = np.random.default_rng(0).integers(-span, span, (5, size), endpoint=True)
    x[:, size // 2 :] = x[:, : size - size // 2]
    values, order = torch.tensor(x).sort(dim=1, stable=True)
    wanted = np.argsort(x, axis=1, kind="stable")
    np.testing.assert_array_equal(order.numpy(), wanted)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, wanted, 1))


def test_negative_zero_equals_zero():
    assert torch.tensor([0.0, -0.0, -1.0]).sort(stable=True)[1].tolist() == [2, 0, 1]


def test_results_may_be_given():
    x = torch.tensor([[3.0, 1.0, 2.0]])
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    torch.sort(x, out=(values, indices))
    assert values.tolist() == [[1, 2, 3]] and indices.tolist() == [[1, 2, 0]]
    torch.max(x, 1, out=(values, indices))
    assert values.tolist() == [3] and indices.tolist() == [0]
    torch.sort(x, out=(x, indices))
    assert x.tolist() == [[1, 2, 3]]


def test_results_have_names():
    made = torch.topk(torch.tensor([1.0, 3.0, 2.0]), 2)
    assert made.values.tolist() == [3, 2] and made.indices.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x.topk(9), RuntimeError, "selected index k out of range"),
        (lambda x: x.kthvalue(0), RuntimeError, "selected number k out of range"),
        (lambda x: x.sort(2), IndexError, "Dimension out of range"),
        (lambda x: x.to(torch.complex64).sort(), RuntimeError, "Sort does not support complex"),
        (lambda x: torch.zeros(0, 3).median(0), IndexError, "Expected reduction dim 0 to have non-zero size"),
        (lambda x: torch.zeros(0).mode(), IndexError, "Expected reduction dim 0"),
        (lambda x: torch.searchsorted(x, x, side="middle"), RuntimeError, "'left' or 'right'"),
        (lambda x: torch.searchsorted(x, x, right=True, side="left"), RuntimeError, "opposites"),
        (
            lambda x: torch.searchsorted(x, x, sorter=torch.full((3,), 7)),
            RuntimeError,
            "sorter index out of range",
        ),
        (lambda x: torch.bucketize(x, x.reshape(1, 3)), RuntimeError, "must be 1 dimension"),
        (lambda x: torch.bincount(torch.tensor([-1])), RuntimeError, "non-negative"),
        (lambda x: torch.histc(x, 0), RuntimeError, "bins must be > 0"),
        (lambda x: torch.histc(x, 3, 5, 1), RuntimeError, "max must be larger than min"),
    ],
)
def test_bad_requests_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.tensor([3.0, 1.0, 2.0]))


def test_sets_come_with_inverse_and_counts():
    x = torch.tensor([[3, 1], [3, 2]])
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert (
        values.tolist() == [1, 2, 3] and inverse.tolist() == [[2, 0], [2, 1]] and counts.tolist() == [1, 1, 2]
    )
    rows, counts = torch.unique(torch.tensor([[2, 1], [0, 5], [2, 1]]), dim=0, return_counts=True)
    assert rows.tolist() == [[0, 5], [2, 1]] and counts.tolist() == [1, 2]
    assert torch.unique_consecutive(torch.tensor([1, 1, 2, 1])).tolist() == [1, 2, 1]
    assert torch.unique(torch.tensor([NAN, NAN, 1.0])).numel() == 3
    assert torch.unique(torch.empty(0)).numel() == 0


@pytest.mark.parametrize("many", [3, 50])
def test_membership_is_found_by_comparing_or_by_searching(many):
    x, wanted = np.arange(20).reshape(4, 5), np.arange(0, 2 * many, 2)
    np.testing.assert_array_equal(
        torch.isin(torch.tensor(x), torch.tensor(wanted)).numpy(), np.isin(x, wanted)
    )


def test_values_are_placed_before_or_after_their_equals():
    bounds = torch.tensor([1.0, 2.0, 2.0, 3.0])
    assert torch.searchsorted(bounds, torch.tensor([2.0])).tolist() == [1]
    assert torch.searchsorted(bounds, torch.tensor([2.0]), right=True).tolist() == [3]
    assert torch.searchsorted(bounds, 2).item() == 1
    assert torch.bucketize(torch.tensor([0.0, NAN]), bounds, out_int32=True).dtype == torch.int32


def test_the_gradient_of_picked_values_returns_to_their_places():
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    (x.sort()[0] * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [100, 1, 10]


def test_running_extrema_follow_nan():
    values, indices = torch.tensor([1.0, NAN, 2.0]).cummax(0)
    assert indices.tolist() == [0, 1, 1] and values[0].item() == 1


@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
def test_long_lines_keep_the_order_of_equals_for_any_number_of_threads(dtype, threads):
    rng = np.random.default_rng(0)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for below in (1, 3, 1 << 30):
            x = (rng.integers(0, below, (2, 100000)) - below // 2).astype(dtype)
            if dtype.startswith("float"):
                x[0, 5::997] = np.nan
            order = np.argsort(x, axis=1, kind="stable")
            values, indices = torch.from_numpy(x).sort(dim=1, stable=True)
            np.testing.assert_array_equal(indices.numpy(), order)
            np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, order, 1))
            again = torch.from_numpy(x.copy())
            torch.sort(again, dim=1, descending=True, out=(again, indices))
            np.testing.assert_array_equal(again.numpy(), values.numpy()[:, ::-1])
            seen, counts = np.unique(x[1], return_counts=True)
            found, places, times = torch.from_numpy(x[1]).unique(return_inverse=True, return_counts=True)
            np.testing.assert_array_equal(found.numpy(), seen)
            np.testing.assert_array_equal(times.numpy(), counts)
            np.testing.assert_array_equal(found.numpy()[places.numpy()], x[1])
            assert torch.from_numpy(x[1]).mode()[0].item() == seen[counts.argmax()]
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [300, 8192, 70001])
@pytest.mark.parametrize("span", [1, 2, 74, 75, 2047, 2048, 2049, 2**32 - 1, 2**32, 2**63])
def test_integers_that_lie_close_together(threads, size, span):
    low = -(2**62) if span == 2**63 else -5
    values = np.random.default_rng(0).integers(low, low + span, size, dtype=np.int64)
    values[:2] = low, low + span - 1
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for x in (torch.from_numpy(values), torch.from_numpy(np.repeat(values, 3))[::3]):
            for keys, descending in ((values, False), (-values, True)):
                sorted_, order = x.sort(stable=True, descending=descending)
                wanted = np.argsort(keys, kind="stable")
                np.testing.assert_array_equal(order.numpy(), wanted)
                np.testing.assert_array_equal(sorted_.numpy(), values[wanted])
    finally:
        torch.set_num_threads(before)
