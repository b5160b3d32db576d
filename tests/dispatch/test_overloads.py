"""``torch.ops``: operators by name and overload."""

import copy
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import library

aten = torch.ops.aten


def test_an_overload_has_its_name_and_schema():
    op = aten.add.Tensor
    assert str(op) == "aten.add.Tensor" and op.name() == "aten::add.Tensor" and op.namespace == "aten"
    assert str(op._schema) == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert (op._schema.name, op._schema.overload_name) == ("aten::add", "Tensor")
    assert [a.name for a in op._schema.arguments if a.kwarg_only] == ["alpha"]
    assert op.overloadpacket is aten.add and aten.add.Tensor is op
    assert op._overloadpacket is aten.add  # counters of operations ask so
    assert (op._name, op._opname, op._overloadname) == ("aten::add.Tensor", "add", "Tensor")
    assert aten.add_.Tensor._schema.is_mutable and not op._schema.is_mutable and aten.t.default.is_view


def test_an_overload_says_what_kind_of_operator_it_is():
    tag = torch.Tag
    assert tag.pointwise in aten.relu.default.tags and tag.reduction in aten.sum.dim_IntList.tags
    assert set(aten.add_.Tensor.tags) == {tag.inplace, tag.pointwise, tag.pt2_compliant_tag}
    assert tag.out in aten.add.out.tags and tag.nondeterministic_seeded in aten.rand.default.tags
    assert not {tag.pointwise, tag.reduction} & set(aten.mm.default.tags)
    library.define("tagged::own", "(Tensor x) -> Tensor", tags=(tag.pointwise,))
    assert torch.ops.tagged.own.default.tags == [tag.pointwise] and torch._C.Tag is tag


def test_an_overload_is_called_with_its_arguments_and_defaults():
    x = torch.tensor([1.0, 2.0])
    assert aten.add.Tensor(x, x, alpha=3).tolist() == [4.0, 8.0]
    assert aten.add.Tensor(x, 1).tolist() == [2.0, 3.0]
    assert [t.item() for t in aten.unbind.default(x)] == [1.0, 2.0]
    values, indices = aten.sort.default(x, descending=True)
    assert values.tolist() == [2.0, 1.0] and indices.tolist() == [1, 0]


def test_one_number_stands_for_a_list_of_a_certain_length():
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    assert aten.avg_pool2d.default(image, 2).tolist() == aten.avg_pool2d.default(image, [2, 2]).tolist()


def test_wrong_arguments_are_refused_with_the_declaration():
    with pytest.raises(RuntimeError, match="Declaration: aten::relu"):
        aten.relu.default("text")
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'beta'"):
        aten.relu.default(torch.ones(2), beta=1)


def test_an_operator_with_one_overload_has_it_under_every_name():
    assert aten.unbind.int is aten.unbind.default


def test_operators_are_the_same_objects_after_a_file_and_a_copy():
    for op in (aten.add, aten.add.Tensor):
        assert pickle.loads(pickle.dumps(op)) is op and copy.deepcopy(op) is op
