"""Nested tensors in the jagged layout: what they say of themselves, operators, and what is refused."""

import copy
import io
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F

SEQUENCES = [
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
    [[7.0, 8.0, 9.0]],
    [[1.0, 0.0, 2.0], [3.0, 1.0, 1.0], [2.0, 2.0, 5.0]],
]


def parts(device="cpu"):
    return [torch.tensor(s, device=device) for s in SEQUENCES]


def nested(device="cpu", **options):
    return torch.nested.nested_tensor(parts(device), layout=torch.jagged, **options)


def with_holes():
    values = torch.arange(16.0).view(8, 2)
    return torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 4, 8]), torch.tensor([2, 3]))


def same(tensor, expected):
    assert tensor.is_nested and len(tensor) == len(expected)
    for a, b in zip(tensor.unbind(), expected, strict=True):
        assert a.shape == b.shape and torch.allclose(a.cpu(), b.cpu(), atol=1e-6)


# ---- sizes -------------------------------------------------------------------------------------------


def test_the_ragged_size_is_a_name_that_is_equal_to_itself_alone():
    one, other = nested(), nested()
    ragged = one.shape[1]
    assert isinstance(ragged, torch.SymInt) and ragged == one.size(1) and ragged != other.size(1)
    assert (
        ragged != 3
        and ragged >= 2
        and str(ragged * 3) == f"3*{ragged}"
        and one.stride() == (ragged * 3, 3, 1)
    )
    assert str(one.shape) == f"torch.Size([3, {ragged}, 3])" and one.shape[1:][0] == ragged
    with pytest.raises(ValueError, match="indeterminate"):
        assert ragged > 5
    with pytest.raises(TypeError, match="no number"):
        int(ragged)


def test_tensors_of_the_same_offsets_have_the_same_size():
    one = nested()
    again = torch.nested.nested_tensor_from_jagged(one.values() * 2, one.offsets())
    assert again.shape == one.shape and one.is_same_size(again) and (one + again).shape == one.shape
    assert one.double().shape == one.shape == one.detach().clone().shape
    with pytest.raises(RuntimeError, match="Their sequences must be the same"):
        one + nested()


def test_a_nested_tensor_says_what_it_is(device):
    tensor = nested(device)
    assert tensor.is_nested and tensor.layout is torch.jagged and tensor.dim() == 3 and len(tensor) == 3
    assert tensor.numel() == 18 and tensor.is_contiguous() and tensor.lengths() is None
    assert tensor.offsets().tolist() == [0, 2, 3, 6] and tensor.values().shape == (6, 3)
    assert tensor.device.type == device.partition(":")[0] and repr(tensor).startswith(
        "NestedTensor(size=(3, j"
    )
    assert [p.shape[0] for p in tensor] == [2, 1, 3] and not torch.ones(2).is_nested
    assert (tensor._get_min_seqlen(), tensor._get_max_seqlen()) == (1, 3)


def test_the_dimension_in_which_tensors_differ_is_ragged():
    tensor = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(2, 4)], layout=torch.jagged)
    assert (
        tensor.size(1) == 2 and isinstance(tensor.size(2), torch.SymInt) and tensor.values().shape == (2, 7)
    )
    with pytest.raises(RuntimeError, match="single ragged dimension"):
        torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 4)], layout=torch.jagged)


# ---- making them ---------------------------------------------------------------------------------------


def test_lists_become_nested_tensors():
    tensor = torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged)
    assert tensor.dtype is torch.int64 and [p.tolist() for p in tensor] == [[1, 2], [3]]
    assert nested(dtype=torch.float64).dtype is torch.float64


@pytest.mark.parametrize(
    ("given", "message"),
    [([], "empty"), ([1.0], "zero-dim"), ([torch.ones(2), torch.ones(2, 2)], "the same dim")],
)
def test_lists_that_are_no_sequences_are_refused(given, message):
    with pytest.raises(RuntimeError, match=message):
        torch.nested.nested_tensor(given, layout=torch.jagged)


def test_a_dense_tensor_is_a_batch_of_one_length():
    tensor = torch.nested.as_nested_tensor(torch.arange(6.0).view(2, 3), layout=torch.jagged)
    assert tensor.offsets().tolist() == [0, 3, 6] and tensor.to_padded_tensor(0).shape == (2, 3)


def test_narrow_gives_views_with_holes():
    whole = torch.arange(10.0).view(2, 5)
    part = torch.nested.narrow(whole, 1, torch.tensor([1, 0]), torch.tensor([2, 4]), layout=torch.jagged)
    assert [p.tolist() for p in part] == [[1.0, 2.0], [5.0, 6.0, 7.0, 8.0]] and not part.is_contiguous()
    whole[0, 1] = -1.0
    assert part[0][0] == -1.0 and part.contiguous().lengths() is None


def test_a_mask_chooses_sequences():
    made = torch.nested.masked_select(
        torch.arange(6.0).view(2, 3), torch.tensor([[1, 0, 1], [0, 0, 1]]).bool()
    )
    assert [p.tolist() for p in made] == [[0.0, 2.0], [5.0]]


def test_offsets_or_lengths_are_needed():
    with pytest.raises(RuntimeError, match="offsets or lengths"):
        torch.nested.nested_tensor_from_jagged(torch.ones(3, 2))
    made = torch.nested.nested_tensor_from_jagged(torch.ones(3, 2), lengths=torch.tensor([1, 2]))
    assert made.offsets().tolist() == [0, 1, 3]


def test_padding_goes_behind_the_shorter_sequences(device):
    padded = nested(device).to_padded_tensor(-1.0)
    assert (
        padded.shape == (3, 3, 3) and padded[1, 1:].eq(-1).all() and padded[1, 0].tolist() == [7.0, 8.0, 9.0]
    )
    assert nested(device).to_padded_tensor(0.0, (3, 5, 4)).shape == (3, 5, 4)
    with pytest.raises(RuntimeError, match="less than NestedTensor padded size"):
        nested(device).to_padded_tensor(0.0, (3, 1, 3))
    with pytest.raises(NotImplementedError, match="must be a nested tensor"):
        torch.ones(2).to_padded_tensor(0.0)


# ---- operators -------------------------------------------------------------------------------------------

OF_EACH = {
    "pointwise": lambda t: F.gelu(t * 2 - 1).exp().clamp(max=9.0),
    "reflected": lambda t: 1 / (2 - t.neg()),
    "compared": lambda t: torch.where(t > 2, t, 0.0),
    "softmax": lambda t: t.softmax(-1),
    "layer norm": lambda t: F.layer_norm(t, (3,)),
    "rms norm": lambda t: F.rms_norm(t, (3,)),
    "inner sum": lambda t: t.sum(-1),
    "kept": lambda t: t.mean(-1, keepdim=True),
    "cumulated": lambda t: t.cumsum(-1),
    "linear": lambda t: F.linear(t, torch.ones(4, 3, device=t.device), torch.ones(4, device=t.device)),
    "product": lambda t: t @ torch.ones(3, 2, device=t.device),
    "unflattened": lambda t: t.unflatten(-1, (3, 1)),
    "flattened": lambda t: t.unflatten(-1, (3, 1)).flatten(-2),
    "unsqueezed": lambda t: t.unsqueeze(-1),
    "chosen": lambda t: t[..., 1],
    "sliced": lambda t: t[..., 0:2],
    "joined": lambda t: torch.cat([t, t * 2], -1),
    "stacked": lambda t: torch.stack([t, t * 2], -1),
    "padded inside": lambda t: F.pad(t, (0, 1)),
    "normalized": lambda t: F.normalize(t, dim=-1),
}


@pytest.mark.parametrize("name", OF_EACH)
def test_an_operator_is_that_of_each_sequence(name, device):
    function = OF_EACH[name]
    same(function(nested(device)), [function(p) for p in parts(device)])


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "prod", "std", "argmax", "logsumexp"])
def test_the_ragged_dimension_is_reduced_for_each_sequence(name, device):
    found = getattr(nested(device), name)(1)
    expected = torch.stack([getattr(p, name)(0) for p in parts()])
    assert found.shape == (3, 3) and torch.allclose(found.cpu(), expected, equal_nan=True)


def test_all_is_reduced_without_holes():
    tensor = with_holes()
    assert tensor.sum() == sum(p.sum() for p in tensor) and nested().mean() == nested().values().mean()
    with pytest.raises(RuntimeError, match="holes; use contiguous"):
        tensor.sum(1)
    with pytest.raises(RuntimeError, match="batch dimension but not the ragged"):
        nested().sum(0)


def test_softmax_over_the_ragged_dimension_is_that_of_each_sequence(device):
    same(nested(device).softmax(1), [p.softmax(0) for p in parts()])
    same(nested(device).transpose(1, 2).softmax(2), [p.mT.softmax(1) for p in parts()])


def test_dense_operands_are_broadcast(device):
    tensor, rows = nested(device), torch.arange(9.0, device=device).view(3, 1, 3)
    same(tensor + rows, [p + r.cpu() for p, r in zip(parts(), rows, strict=True)])
    same(tensor * torch.ones(3, device=device), parts())
    same(torch.ones(1, 3, device=device) * tensor, parts())
    padded = tensor.to_padded_tensor(0.0)
    same(tensor + padded, [p * 2 for p in parts()])
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
        tensor + torch.ones(5, 3, device=device)


def test_the_ragged_dimension_moves(device):
    tensor = nested(device).transpose(1, 2)
    assert isinstance(tensor.size(2), torch.SymInt) and not tensor.is_contiguous()
    same(tensor, [p.mT for p in parts()])
    same(tensor * 2, [p.mT * 2 for p in parts()])
    same(tensor.permute(0, 2, 1), parts())
    same(nested(device).unsqueeze(1).mT, [p.unsqueeze(0).mT for p in parts()])
    with pytest.raises(ValueError, match="batch dimension"):
        tensor.transpose(0, 1)


def test_views_keep_batch_and_ragged_dimension():
    tensor = nested()
    ragged = tensor.size(1)
    assert tensor.view(3, -1, 1, 3).shape == (3, ragged, 1, 3) == tensor.reshape(3, ragged, 1, 3).shape
    assert tensor.unsqueeze(-1).expand(-1, -1, -1, 2).shape == (3, ragged, 3, 2)
    for shape in ((-1, 3), (-1,), (2, -1, 3)):
        with pytest.raises(RuntimeError, match="cannot view shape"):
            tensor.view(*shape)


def test_the_batch_is_taken_apart():
    tensor = nested()
    same(tensor.chunk(2)[1], parts()[2:])
    assert torch.equal(tensor[1], parts()[1]) and tensor[0, 1, 2] == 6.0 and len(tensor.unbind()) == 3
    with pytest.raises(IndexError):
        tensor[3]
    for call in (lambda: tensor.split(1), lambda: torch.cat([tensor, tensor]), lambda: tensor.unsqueeze(0)):
        with pytest.raises(RuntimeError, match="not supported for NestedTensor on dim=0"):
            call()
    for call in (lambda: tensor.select(1, 0), lambda: tensor.flatten(1, 2), lambda: tensor.chunk(2, 1)):
        with pytest.raises(RuntimeError, match="on ragged dim"):
            call()


def test_products_of_batches(device):
    tensor, weights = nested(device), torch.arange(18.0, device=device).view(3, 3, 2)
    same(torch.bmm(tensor, weights), [p @ w.cpu() for p, w in zip(parts(), weights, strict=True)])
    gram = tensor.transpose(1, 2) @ tensor
    assert not gram.is_nested and torch.allclose(gram[2].cpu(), parts()[2].mT @ parts()[2])
    with pytest.raises(RuntimeError, match="ragged in two dimensions"):
        tensor @ tensor.transpose(1, 2)


def test_what_is_written_in_place_is_in_the_values():
    tensor = nested()
    values = tensor.values()
    tensor.mul_(2).add_(tensor).clamp_(max=20.0)
    assert values[0].tolist() == [4.0, 8.0, 12.0] and torch.equal(tensor[0], values[:2])
    tensor[0].zero_()
    assert values[:2].eq(0).all()
    assert F.relu(tensor, inplace=True) is tensor and tensor.copy_(tensor * 0 + 1).values().eq(1).all()


def test_what_is_not_there_says_what_to_do():
    with pytest.raises(
        NotImplementedError, match=r"conv1d\(\) of nested tensors is not there. Work on values\(\)"
    ):
        F.conv1d(nested(), torch.ones(1, 3, 1))
    with pytest.raises(RuntimeError, match="use to_padded_tensor"):
        nested().to_dense()
    with pytest.raises(RuntimeError, match="each tensor of unbind"):
        nested().tolist()


# ---- copies ------------------------------------------------------------------------------------------------


def test_devices_and_dtypes_change_and_the_sequences_stay(device):
    tensor = nested()
    moved = tensor.to(device, torch.float16)
    assert moved.device.type == device.partition(":")[0] and moved.offsets().device == moved.device
    assert moved.dtype is torch.float16 and moved.shape == tensor.shape and tensor.to("cpu") is tensor
    same(moved.cpu().float(), parts())
    assert torch.zeros_like(moved).shape == moved.shape and torch.rand_like(tensor).shape == tensor.shape


def test_copies_are_deep_once_each():
    tensor = nested(requires_grad=True)
    tensor.sum().backward()
    made = copy.deepcopy({"a": tensor, "b": tensor})
    assert made["a"] is made["b"] and made["a"].requires_grad and made["a"].grad.shape == made["a"].shape
    same(made["a"].detach(), parts())


@pytest.mark.parametrize("how", ["pickle", "file", "weights only"])
def test_saved_ones_come_back(how):
    import mindtorch_v2._dynamo  # noqa: F401 - weights_only wants it, as PyTorch does

    tensor, strided = nested().transpose(1, 2), torch.nested.nested_tensor(parts())
    if how == "pickle":
        back = pickle.loads(pickle.dumps([tensor, with_holes(), strided]))
    else:
        file = io.BytesIO()
        torch.save([tensor, with_holes(), strided], file)
        file.seek(0)
        back = torch.load(file, weights_only=how == "weights only")
    same(back[0], [p.mT for p in parts()])
    same(back[1], list(with_holes().unbind()))
    same(back[2], parts())
    assert back[0].layout is torch.jagged and back[2].layout is torch.strided
