"""Numbers where tensors are wanted, and what becomes of an out= or a tensor that is written."""

import gc
import warnings

import pytest

import mindtorch_v2 as torch


def of(function):
    """The result, and the texts of the warnings that were given."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        return function(), [str(warning.message) for warning in given]


@pytest.mark.parametrize(
    ("made", "value", "dtype"),
    [
        (lambda: torch.add(2, 3), 5, torch.int64),
        (lambda: torch.add(2, 3.5), 5.5, torch.float32),
        (lambda: torch.add(1, 2j), 1 + 2j, torch.complex64),
        (lambda: torch.add(True, False), True, torch.bool),
        (lambda: torch.sub(2, 3, alpha=2), -4, torch.int64),
        (lambda: torch.mul(2, 3), 6, torch.int64),
        (lambda: torch.multiply(2.0, 3), 6, torch.float32),
        (lambda: torch.div(3, 2), 1.5, torch.float32),
        (lambda: torch.div(7, 2, rounding_mode="floor"), 3, torch.int64),
        (lambda: torch.true_divide(3, 2), 1.5, torch.float32),
        (lambda: torch.floor_divide(-7, 2), -4, torch.int64),
    ],
)
def test_two_numbers_are_tensors_without_dimensions(made, value, dtype):
    result = made()
    assert result.item() == value and result.dtype is dtype and result.shape == ()


def test_bools_are_not_subtracted_as_numbers_either():
    with pytest.raises(RuntimeError, match="two bool tensors"):
        torch.sub(True, True)


def test_a_number_is_copied_into_every_element():
    assert torch.zeros(2).copy_(3).tolist() == [3, 3]
    assert torch.zeros(2, dtype=torch.int32).copy_(3.7).tolist() == [3, 3]
    assert torch.zeros(2).copy_(True).tolist() == [1, 1]
    assert torch.zeros(2, device="npu").copy_(float("inf")).tolist() == [float("inf")] * 2
    with pytest.raises(TypeError, match="must be Tensor, not str"):
        torch.zeros(2).copy_("3")


def test_a_number_beside_a_tensor_keeps_the_order_of_its_dimensions():
    images = torch.rand(10, 3, 1, 1).to(memory_format=torch.channels_last)
    assert (images * 5).stride() == (images > 0).stride() == (3, 1, 3, 3)
    assert images.exp().stride() == (3, 1, 1, 1)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_an_out_that_is_resized_lies_as_a_fresh_result_would(order):
    x = torch.randn(2, 3, 4).permute(order)
    row = torch.randn(x.shape[-1])
    for function in (lambda out: torch.add(x, row, out=out), lambda out: torch.exp(x, out=out)):
        out = torch.empty(0)
        function(out)
        assert out.stride() == x.stride()
    assert torch.equal(torch.add(x, row, out=torch.empty(0)), x + row)


def test_factories_resize_their_out_without_a_word():
    for make in (
        lambda out: torch.zeros(3, out=out),
        lambda out: torch.full((3,), 1.0, out=out),
        lambda out: torch.linspace(0, 1, 3, out=out),
        lambda out: torch.rand(3, out=out),
    ):
        made, told = of(lambda make=make: make(torch.empty(5)))
        assert made.shape == (3,) and told == []


def test_arange_tells_that_its_out_had_another_number_of_elements():
    made, told = of(lambda: torch.arange(0, 3, out=torch.empty(5)))
    assert made.tolist() == [0, 1, 2]
    assert len(told) == 1 and "The out tensor will be resized" in told[0]
    assert of(lambda: torch.arange(0, 4, out=torch.empty(2, 2)))[1] == []


def test_an_out_of_the_wrong_dtype_is_refused_in_the_words_of_the_operator():
    pair = torch.ones(2), torch.ones(2)
    for function in (torch.complex, torch.polar):
        with pytest.raises(
            RuntimeError, match="Expected object of scalar type ComplexFloat but got scalar type"
        ):
            function(*pair, out=torch.ones(2))
    short = torch.empty(0, dtype=torch.int16), torch.empty(0, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="expected scalar_type Float but found Short"):
        torch.cummax(torch.ones(3), 0, out=short)


def test_an_out_of_another_layout_is_refused():
    for make in (torch.zeros, torch.empty, torch.rand):
        with pytest.raises(RuntimeError, match="layout Sparse does not match layout of out parameter"):
            make((3, 4), layout=torch.sparse_coo, out=torch.zeros(3, 4))


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_ones_and_zeros_are_drawn_into_any_dtype(device):
    for dtype in (torch.bool, torch.int64, torch.float64):
        out = torch.full((3,), 2, device=device).to(dtype)
        torch.bernoulli(torch.tensor([0.0, 1.0, 1.0], device=device), out=out)
        assert out.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("split", "sizes"),
    [
        (lambda x, out: torch.split_with_sizes_copy(x, [1, 3], out=out), [(1, 2), (3, 2)]),
        (lambda x, out: torch.unbind_copy(x[:2], out=out), [(2,), (2,)]),
        (lambda x, out: torch.split_copy(x, 2, out=out), [(2, 2), (2, 2)]),
    ],
)
def test_pieces_are_copied_into_a_list_of_outs(split, sizes):
    x = torch.arange(8.0).view(4, 2)
    outs = [torch.empty(size) for size in sizes]
    assert split(x, outs) is None
    assert torch.equal(
        torch.cat([out.reshape(-1) for out in outs]), x.reshape(-1)[: sum(o.numel() for o in outs)]
    )
    with pytest.raises(RuntimeError, match="expected an out= argument of size 2, got size 1"):
        split(x, outs[:1])


def test_clamp_promotes_its_three_tensors_together():
    flags = torch.ones(4, dtype=torch.bool)
    low, high = torch.zeros(4, dtype=torch.float64), torch.ones(4)
    assert torch.clamp(flags, low[0], high).dtype is torch.float32
    assert torch.clamp(flags, low, high[0]).dtype is torch.float64


def test_filling_an_expanded_tensor_by_index_only_warns():
    x = torch.rand(1).expand(6)
    made, told = of(lambda: x.index_fill_(0, torch.tensor([2, 1]), 1.0))
    assert made.tolist() == [1] * 6 and "index_fill_ on expanded tensors" in told[0]


def test_rows_that_nobody_reads_are_looked_for_all_the_same():
    with pytest.raises(RuntimeError, match="INDICES element is out of DATA bounds, id=5"):
        torch.ones(0, 3).index_select(1, torch.tensor([0, 5]))


def test_complex_halves_are_said_to_be_experimental_once():
    torch.set_warn_always(True)
    try:
        for make in (
            lambda: torch.zeros(2, dtype=torch.complex32),
            lambda: torch.zeros(2, dtype=torch.complex64).to(torch.complex32),
        ):
            assert any("ComplexHalf support is experimental" in text for text in of(make)[1])
    finally:
        torch.set_warn_always(False)


def test_a_list_that_holds_itself_is_no_tensor():
    own = [0]
    own.append(own)
    for data in (own, [[1, 2], own]):
        with pytest.raises(TypeError, match="self-referential lists are incompatible"):
            torch.tensor(data)


def test_the_collector_leaves_attributes_of_a_tensor_that_the_graph_holds():
    t = torch.rand(2, requires_grad=True).clone()
    t.note = "kept"
    cycle = [t]
    cycle.append(cycle)
    result = t**2
    del t, cycle
    gc.collect()
    assert result.grad_fn._saved_self.note == "kept"


def test_elements_lie_on_each_other_or_not_or_nobody_looked():
    overlap = torch._debug_has_internal_overlap
    assert overlap(torch.ones(3, 3).t()) == 0
    assert overlap(torch.ones(1).expand(3)) == 1
    assert overlap(torch.ones(4, 4)[:, :2]) == 2


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (torch.tensor([2, 2]), "int or sequence of ints"),
        ((2, 2.0), "only contain ints"),
        ("ab", "only contain ints"),
    ],
)
def test_shapes_to_unravel_are_ints(shape, text):
    with pytest.raises(TypeError, match=text):
        torch.unravel_index(torch.tensor([1]), shape)


def test_results_of_scatter_and_of_draws_lie_row_by_row():
    x = torch.arange(24.0).view(2, 3, 4).permute(2, 0, 1)
    places, rows = torch.zeros(1, 2, 3, dtype=torch.long), torch.tensor([1, 0])
    for made in (
        x.scatter(0, places, 1.0),
        x.scatter_add(0, places, torch.ones(1, 2, 3)),
        x.index_add(0, rows, torch.ones(2, 2, 3)),
        x.index_copy(0, rows, torch.ones(2, 2, 3)),
        torch.bernoulli(x * 0),
    ):
        assert made.is_contiguous()
    for made in (torch.complex(x, x), torch.polar(x, x), x.select_scatter(x[0], 0, 0)):
        assert made.stride() == x.stride()


def test_a_complex_number_is_no_real_one():
    with pytest.raises(TypeError, match="must be real number, not complex"):
        torch.tensor(1j, dtype=torch.float32)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        torch.tensor([1j], dtype=torch.int64)
    assert torch.tensor([0j, 1j], dtype=torch.bool).tolist() == [False, True]


def test_joined_tensors_go_into_no_out_of_a_lower_kind():
    with pytest.raises(TypeError, match="can't be cast to the desired output type Int"):
        torch.cat([torch.ones(2)], out=torch.ones(2, dtype=torch.int32))


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_the_narrowest_floats_are_compared(name):
    x = torch.tensor([1.0, -2.0, float("nan")]).to(getattr(torch, name))
    assert (x == x).tolist() == [True, True, False] and (x != x).tolist() == [False, False, True]
    assert x.isnan().tolist() == [False, False, True]
    assert x.abs().dtype is x.dtype and x.abs().float()[:2].tolist() == [1, 2]
    with pytest.raises(NotImplementedError, match="not implemented for 'Float8"):
        x.neg()
