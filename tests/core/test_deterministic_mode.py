"""torch.use_deterministic_algorithms: alerts of operators, and what new memory holds."""

import math
import warnings

import pytest

import mindtorch_v2 as torch


@pytest.fixture(autouse=True)
def as_before():
    fill = torch.utils.deterministic.fill_uninitialized_memory
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = fill


def order_of_writes_matters():
    return torch.zeros(4).put_(torch.tensor([0, 0]), torch.tensor([1.0, 2.0]))


UNPOOL = torch.nn.MaxUnpool2d(3, 1)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (order_of_writes_matters, "put_"),
        (
            lambda: UNPOOL(torch.randn(1, 1, 7, 7), torch.zeros(1, 1, 7, 7, dtype=torch.int64)),
            "max_unpooling2d",
        ),
    ],
)
def test_an_operator_whose_result_depends_on_the_order_of_writes_refuses_or_warns(call, name):
    call()
    torch.use_deterministic_algorithms(True)
    with pytest.raises(RuntimeError, match=f"{name}.* does not have a deterministic implementation"):
        call()
    torch.use_deterministic_algorithms(True, warn_only=True)
    with pytest.warns(UserWarning, match=f"{name}.* does not have a deterministic implementation"):
        call()


def test_sums_that_are_the_same_in_any_order_are_allowed():
    torch.use_deterministic_algorithms(True)
    added = torch.zeros(4).put_(torch.tensor([0, 0]), torch.tensor([1.0, 2.0]), accumulate=True)
    assert added[0] == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda dtype: torch.empty(3, 2, dtype=dtype),
        lambda dtype: torch.empty_like(torch.zeros(3, dtype=dtype)),
        lambda dtype: torch.empty_strided((2, 3), (1, 1), dtype=dtype),
        lambda dtype: torch.zeros(2, dtype=dtype).new_empty(3),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64, torch.int16, torch.uint64, torch.bool])
def test_new_memory_is_filled(make, dtype):
    torch.use_deterministic_algorithms(True)
    made = make(dtype).flatten().tolist()
    if dtype.is_floating_point or dtype.is_complex:
        assert all(math.isnan(value.real) for value in made)
    else:
        assert set(made) == {True if dtype == torch.bool else torch.iinfo(dtype).max}


def test_only_what_a_resize_adds_is_filled():
    grown = torch.zeros(3)
    torch.use_deterministic_algorithms(True)
    grown.resize_(5)
    assert grown[:3].tolist() == [0, 0, 0]
    assert grown[3:].isnan().all()


def test_memory_is_left_alone_on_request():
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    small = torch.zeros(4)
    small.resize_(2)
    assert small.resize_(4).tolist() == [0, 0, 0, 0]
    with pytest.raises(RuntimeError, match="expected a bool"):
        torch.utils.deterministic.fill_uninitialized_memory = 1


def test_the_switch_takes_truth_values_alone():
    with pytest.raises(TypeError, match="argument 'mode' .* must be bool, not int"):
        torch.use_deterministic_algorithms(1)
    with pytest.raises(TypeError, match="argument 'warn_only' must be bool, not int"):
        torch.use_deterministic_algorithms(True, warn_only=1)


def test_what_is_said_once_is_said_again_on_request():
    old = [
        lambda: torch.addcmul(torch.ones(2), 2, torch.ones(2), torch.ones(2)),
        lambda: torch.ones(2, 2, 2).T,
    ]
    for call in old:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
        torch.set_warn_always(True)
        try:
            for _ in range(2):
                with pytest.warns(UserWarning, match="deprecated"):
                    call()
        finally:
            torch.set_warn_always(False)
