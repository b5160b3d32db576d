"""``torch.func`` and ``torch.utils._pytree`` without PyTorch at hand; tests/parity compares them with it."""

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils import _pytree as pytree

Point = namedtuple("Point", "x y")


def test_containers_come_apart_and_together_again():
    tree = {
        "a": [1, (2, None)],
        "b": OrderedDict(c=Point(3, 4)),
        "d": deque([5], maxlen=2),
        "e": defaultdict(int, f=6),
    }
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2, None, 3, 4, 5, 6]
    assert spec.unflatten(leaves) == tree and pytree.tree_structure(tree) == spec and spec.num_leaves == 7
    assert pytree.tree_map(lambda x: x and x + 1, tree)["b"]["c"] == Point(4, 5)
    assert pytree.tree_map(lambda a, b: a + b, [1, 2], [3, 4]) == [4, 6]
    paths = [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(tree)]
    assert paths[:2] == ["['a'][0]", "['a'][1][0]"] and "['b']['c'].x" in paths
    with pytest.raises(ValueError, match="holds 7 items"):
        spec.unflatten([1])
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(list, list, list)


def test_derivatives_nest_and_keep_what_is_outside():
    cube = torch.func.grad(torch.func.grad(lambda x: x**3))
    assert cube(torch.tensor(2.0)).item() == 12 and not cube(torch.tensor(2.0)).requires_grad
    w = torch.tensor(3.0, requires_grad=True)
    torch.func.grad(lambda x: x * w * w)(torch.tensor(1.0)).backward()
    assert w.grad.item() == 6
    with torch.no_grad():
        assert not torch.func.grad(lambda x: x * w)(torch.tensor(1.0)).requires_grad


def test_vmap_is_the_loop_it_stands_for():
    x = torch.arange(12.0).reshape(3, 4)
    assert torch.vmap(torch.dot)(x, x).tolist() == (x * x).sum(1).tolist()
    assert torch.vmap(lambda a, b: a + b, in_dims=(1, None), out_dims=1)(x, 1).shape == (3, 4)
    per_sample = torch.vmap(torch.func.grad(lambda w, v: (w * v).sum()), in_dims=(None, 0))
    assert torch.equal(per_sample(torch.ones(4), x), x)


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_random_numbers_inside_vmap_are_what_was_asked_for(device):
    x = torch.zeros(3, device=device)

    def noisy(v):
        return v + torch.rand((), device=device)

    assert len(set(torch.vmap(noisy, randomness="same")(x).tolist())) == 1
    assert len(set(torch.vmap(noisy, randomness="different")(x).tolist())) == 3
    with pytest.raises(RuntimeError, match="randomness error mode"):
        torch.vmap(noisy)(x)


def test_modules_are_called_with_other_parameters():
    module = torch.nn.Linear(2, 1)
    zeros = {name: torch.zeros_like(p) for name, p in module.named_parameters()}
    assert torch.func.functional_call(module, zeros, torch.ones(1, 2)).item() == 0
    assert module.weight.abs().sum() > 0
    parameters, _ = torch.func.stack_module_state([module, torch.nn.Linear(2, 1)])
    both = torch.vmap(lambda p, x: torch.func.functional_call(module, p, x), in_dims=(0, None))
    assert both(parameters, torch.ones(1, 2)).shape == (2, 1, 1)


def test_a_scan_gives_the_running_results_of_an_associative_function():
    from mindtorch_v2._higher_order_ops.associative_scan import associative_scan

    x = torch.arange(1.0, 8.0)
    assert associative_scan(lambda a, b: a * b, x, 0).tolist() == x.cumprod(0).tolist()
    assert (
        associative_scan(lambda a, b: a + b, x, 0, reverse=True).tolist()
        == x.flip(0).cumsum(0).flip(0).tolist()
    )
    gates, values = torch.full((1, 4), 0.5), torch.ones(1, 4)
    first, second = associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (gates, values), 1)
    assert second.tolist() == [[1.0, 1.5, 1.75, 1.875]] and first[0, 3].item() == 0.0625


def test_vmap_differentiates_a_graph_from_outside_once_for_each_slice():
    x = torch.arange(3.0, requires_grad=True)
    y = x**2
    rows = torch.vmap(lambda seed: torch.autograd.grad(y, x, seed)[0])(torch.eye(3))
    assert rows.tolist() == torch.diag(2 * x).tolist()
    with pytest.raises(RuntimeError, match="second time"):  # the last slice frees it, as one pass would
        torch.autograd.grad(y.sum(), x)


class Record:
    """What a library's tensor-like container is: it has dimensions and answers torch's functions."""

    def __init__(self, **tensors):
        self.tensors = tensors

    @property
    def shape(self):
        return min((t.shape for t in self.tensors.values()), key=len)

    def dim(self):
        return len(self.shape)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.unbind:
            names, columns = zip(*((n, t.unbind(*args[1:])) for n, t in args[0].tensors.items()), strict=True)
            return tuple(cls(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True))
        assert function is torch.stack
        return cls(**{n: torch.stack([r.tensors[n] for r in args[0]], *args[1:]) for n in args[0][0].tensors})


def test_vmap_maps_over_whatever_answers_unbind_and_stack():
    records = Record(a=torch.arange(2.0), b=torch.ones(2, 3))
    out = torch.vmap(lambda r, x: Record(c=r.tensors["a"] * r.tensors["b"] + x), (0, None))(
        records, torch.ones(3)
    )
    assert isinstance(out, Record) and out.tensors["c"].tolist() == [[1.0] * 3, [2.0] * 3]


def test_a_container_that_all_slices_get_is_a_new_one_in_each():
    def note(x, seen):
        seen["last"] = x
        return seen

    assert torch.vmap(note, (0, None))(torch.arange(3.0), {})["last"].tolist() == [0, 1, 2]


def test_functorch_makes_functions_of_modules():
    from mindtorch_v2 import functorch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    model[0].same = model[0].weight
    x = torch.randn(4, 2)
    with pytest.warns(FutureWarning, match="torch.func.functional_call"):
        function, params, buffers = functorch.make_functional_with_buffers(model)
    assert (
        isinstance(function, functorch.FunctionalModuleWithBuffers) and len(params) == 4 and len(buffers) == 3
    )
    assert all(p.requires_grad and p is not q for p, q in zip(params, model.parameters(), strict=True))
    assert {p.device.type for p in function.parameters()} == {"meta"}
    out = function(params, buffers, x)
    assert buffers[2].item() == 1 and model[1].num_batches_tracked.item() == 0  # its own stay as they are
    assert torch.equal(out, model(x))
    with pytest.raises(RuntimeError, match="wanted a tensor for each of 7"):
        function(params[1:], buffers, x)
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="make_functional_with_buffers"):
        functorch.make_functional(model)
    with pytest.warns(FutureWarning):
        plain, tensors = functorch.make_functional(torch.nn.Linear(2, 3), disable_autograd_tracking=True)
    assert not tensors[0].requires_grad and plain(tensors, x).shape == (4, 3)


def test_functorch_stacks_an_ensemble():
    from mindtorch_v2 import functorch

    models = [torch.nn.Linear(2, 3) for _ in range(4)]
    with pytest.warns(FutureWarning, match="torch.func.stack_module_state"):
        function, params, buffers = functorch.combine_state_for_ensemble(models)
    x = torch.randn(5, 2)
    out = torch.vmap(function, (0, 0, None))(params, buffers, x)
    assert torch.allclose(out, torch.stack([m(x) for m in models])) and not params[0].requires_grad
    with (
        pytest.warns(FutureWarning),
        pytest.raises(RuntimeError, match="combine_state_for_ensemble: .* same class"),
    ):
        functorch.combine_state_for_ensemble([torch.nn.Linear(2, 3), torch.nn.ReLU()])


def test_the_older_vmap_lets_none_pass():
    from mindtorch_v2._vmap_internals import _vmap

    mapped = _vmap(lambda x, y: {"a": x * y, "b": None}, (0, None), allow_none_pass_through=True)
    assert mapped(torch.arange(3.0), torch.tensor(2.0))["b"] is None
    assert mapped(torch.arange(3.0), torch.tensor(2.0))["a"].tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match="must only return Tensors"):
        _vmap(lambda x: None)(torch.ones(2))


def test_a_view_made_where_nothing_is_recorded_is_differentiated_like_its_base():
    leaf = torch.tensor(0.3, requires_grad=True)
    with torch.no_grad():
        for given in (leaf, leaf.view_as(leaf), leaf.detach()):
            _, product = torch.func.vjp(torch.func.grad(lambda a: a**3), given)
            assert product(torch.tensor(1.0))[0].item() == pytest.approx(6 * 0.3)
            _, product = torch.func.vjp(
                lambda a: torch.func.grad(lambda b: a * b**2)(torch.tensor(2.0)), given
            )
            assert product(torch.tensor(1.0))[0].item() == pytest.approx(4.0)


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_a_vjp_made_in_any_mode_is_differentiated_by_another_transform(mode):
    w, x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), torch.tensor([1.0, 2.0])
    with mode():
        one = torch.ones(2)
        _, multiply = torch.func.vjp(lambda v: w @ v, one)
        _, again = torch.func.vjp(lambda u: multiply(u)[0], torch.zeros(2))
        assert again(x)[0].tolist() == [5, 11]  # w @ x
        assert torch.func.jacrev(lambda u: multiply(u)[0])(one).tolist() == [[1, 3], [2, 4]]
        assert torch.func.grad(lambda u: multiply(u)[0] @ x)(one).tolist() == [5, 11]
        assert multiply(x)[0].requires_grad == (mode is torch.enable_grad)
    _, multiply = torch.func.vjp(lambda v: w @ v, x)
    with mode():
        assert multiply(x)[0].requires_grad == (mode is torch.enable_grad)


def test_a_result_keeps_no_graph_for_leaves_of_a_transform_that_ended():
    slope = torch.func.grad(lambda w, scale: scale * (w**2).sum())
    w, scale = torch.tensor([1.0, 2.0]), torch.tensor(3.0)
    _, multiply = torch.func.vjp(lambda scale: slope(w, scale), scale)
    (found,) = multiply(torch.ones(2))
    assert found.item() == 6 and not found.requires_grad


def test_a_gradient_through_a_solution_solves_with_the_transposed_jacobian():
    """As implicit differentiation does it: transforms in the backward of a function, where gradients are off."""

    class Root(torch.autograd.Function):  # of a @ root - scale
        @staticmethod
        def forward(ctx, a, scale):
            ctx.save_for_backward(a, scale)
            return torch.linalg.solve(a, scale.expand(2))

        @staticmethod
        def backward(ctx, slope):
            a, scale = ctx.saved_tensors
            _, transposed = torch.func.vjp(lambda root: a @ root - scale, torch.zeros(2))
            _, straight = torch.func.vjp(lambda u: transposed(u)[0], torch.zeros(2))
            matrix = torch.stack([straight(row)[0] for row in torch.eye(2)], 1)
            return None, torch.linalg.solve(matrix.T, slope).sum()

    a, scale = torch.tensor([[2.0, 1.0], [0.5, 3.0]]), torch.tensor(4.0, requires_grad=True)
    Root.apply(a, scale).sum().backward()
    assert scale.grad.item() == pytest.approx(torch.linalg.solve(a, torch.ones(2)).sum().item())


def test_dataclasses_and_constants_in_trees():
    @dataclasses.dataclass
    class Pair:
        first: object
        second: object = None
        made: int = dataclasses.field(init=False, default=7)

    @dataclasses.dataclass(frozen=True)
    class Name:
        text: str

    pytree.register_dataclass(Pair)
    pytree.register_constant(Name)
    try:
        leaves, spec = pytree.tree_flatten(Pair(1, [2, Name("a")]))
        assert leaves == [1, 2] and pytree.tree_unflatten([3, 4], spec) == Pair(3, [4, Name("a")])
        assert pytree.tree_flatten(Pair(1))[0] == [1]  # what is None is no leaf
        assert pytree.keystr(pytree.tree_leaves_with_path(Pair(1))[0][0]) == ".first"
        assert pytree.is_constant_class(Name) and spec != pytree.tree_structure(Pair(1, [2, Name("b")]))
    finally:
        pytree._deregister_pytree_node(Pair)
        pytree._deregister_pytree_node(Name)
    with pytest.raises(ValueError, match="Missing fields in `field_names`: {'second'}"):
        pytree.register_dataclass(Pair, field_names=["first"])
    with pytest.raises(TypeError, match="non-default `__eq__`"):
        pytree.register_constant(type("Plain", (), {}))


def test_leaves_broadcast_to_a_nesting():
    spec = pytree.tree_structure([1, (2, 3)])
    assert pytree._broadcast_to_and_flatten(0, spec) == [0, 0, 0]
    assert pytree._broadcast_to_and_flatten([0, 1], spec) == [0, 1, 1]
    assert pytree._broadcast_to_and_flatten([0], spec) is None
    assert pytree.treespec_tuple([pytree.treespec_leaf()]) == pytree.tree_structure((1,))
    assert pytree.treespec_dict(a=pytree.treespec_leaf()) == pytree.tree_structure({"a": 1})
    assert pytree.tree_all_only(int, bool, [1, "", 2]) and not pytree.tree_any_only(int, bool, [0, "a"])
