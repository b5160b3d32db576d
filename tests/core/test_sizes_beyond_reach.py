"""Numbers that no tensor can have as a size are refused before anything is computed with them."""

import pytest

import mindtorch_v2 as torch

HUGE = 2**62


def test_more_empty_chunks_than_memory_holds_are_refused():
    with pytest.raises(RuntimeError, match="chunk of a dimension of size 0"):
        torch.empty(0).chunk(2**31)
    assert len(torch.empty(0).chunk(5)) == 5


def test_more_repetitions_than_a_tensor_holds_are_refused():
    with pytest.raises(RuntimeError, match="repetitions of 4 elements"):
        torch.ones(4).repeat_interleave(HUGE)


def test_a_recurrent_network_of_too_many_layers_is_refused():
    parameters = [torch.ones(3, 2), torch.ones(3, 1), torch.ones(3), torch.ones(3)]
    with pytest.raises(RuntimeError, match="incorrect number of RNN parameters"):
        torch._VF.gru(
            torch.ones(1, 1, 2), torch.ones(2, 1, 1), parameters, True, HUGE, 0.0, False, True, False
        )


def test_a_recurrent_network_without_parameters_is_refused():
    with pytest.raises(RuntimeError, match="incorrect number of RNN parameters"):
        torch._VF.lstm(torch.ones(1, 1, 2), (torch.ones(1, 1, 1),) * 2, [], True, 1, 0.0, False, False, False)


def test_more_elements_in_some_order_than_a_tensor_holds_are_refused():
    with pytest.raises(RuntimeError):
        torch.empty_permuted((3, 2**63 - 1, 3), (0, 1, 2))


def test_an_empty_tensor_with_any_strides_is_a_list_and_has_real_parts():
    t = torch.empty(0, dtype=torch.complex64).as_strided((2, 0), (HUGE, HUGE))
    assert t.tolist() == [[], []]
    assert torch.view_as_real(t).shape == (2, 0, 2)


def test_the_gradient_of_the_lowest_power_is_computed():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    (x ** -(2**63)).sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, -(2.0**63)))


def test_pivots_beyond_the_rows_are_refused():
    pivots = torch.tensor([-(2**31), 1], dtype=torch.int32)
    with pytest.raises(RuntimeError, match="pivots passed to lu_unpack"):
        torch.lu_unpack(torch.eye(2), pivots)


def test_any_byte_but_zero_is_true():
    seen_as_bools = torch.tensor([0, 1, 128, 255], dtype=torch.uint8).view(torch.bool)
    assert seen_as_bools.to(torch.int64).tolist() == [0, 1, 1, 1]
    assert seen_as_bools.to(torch.float32).tolist() == [0.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(("dims", "pool"), [(2, "adaptive_max_pool2d"), (3, "adaptive_max_pool3d")])
def test_pools_of_negative_sizes_over_too_few_dimensions_are_refused(dims, pool):
    with pytest.raises(RuntimeError, match="Expected"):
        getattr(torch._C._nn, pool)(torch.ones(1), [-1] * dims)


def test_a_pool_with_a_step_beyond_all_sizes_is_refused():
    with pytest.raises(RuntimeError, match="cannot be represented"):
        torch.nn.functional.max_pool1d(torch.ones(1, 1, 8), 2, 2**63 - 1, ceil_mode=True)


def test_sums_of_integers_at_indices_wrap():
    lowest = torch.iinfo(torch.int64).min
    made = torch.full((2,), lowest).index_put((torch.tensor([0]),), torch.tensor([-1]), accumulate=True)
    assert made.tolist() == [torch.iinfo(torch.int64).max, lowest]


def test_offsets_of_more_rows_than_there_can_be_are_refused():
    with pytest.raises(RuntimeError, match="there are no"):
        torch._C._functions._row_offsets(torch.zeros(1, dtype=torch.int64), torch.iinfo(torch.int64).max)
