"""``torch.func`` and ``torch.utils._pytree`` without PyTorch at hand; tests/parity compares them with it."""

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
