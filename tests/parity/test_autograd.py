"""Autograd beside PyTorch: the same program in both libraries gives the same gradients, orders and errors."""

import numpy as np
import pytest
import torch

import mindtorch_v2


def plain(value):
    """A result both libraries can be compared by."""
    if isinstance(value, (torch.Tensor, mindtorch_v2.Tensor)):
        return np.round(np.array(value.detach().cpu().tolist(), dtype=np.float64), 4).tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def leaf(lib, *values, device="cpu"):
    return lib.tensor(values, dtype=lib.float32, device=device, requires_grad=True)


# Each program is run with both libraries (ours on cpu and npu) and must return the same.


def accumulates_over_calls(lib, dev):
    x = leaf(lib, 1.0, 2.0, device=dev)
    for _ in range(3):
        (x * x).sum().backward()
    return x.grad


def retains_the_graph(lib, dev):
    x = leaf(lib, 1.0, 2.0, device=dev)
    y = (x.exp() * x).sum()
    y.backward(retain_graph=True)
    first = plain(x.grad)
    y.backward()
    return first, x.grad


def differentiates_twice(lib, dev):
    x = leaf(lib, 0.5, -1.5, device=dev)
    (first,) = lib.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = lib.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = lib.autograd.grad(second.sum(), x)
    return first, second, third


def differentiates_activations_twice(lib, dev):
    out = []
    for name in ("tanh", "sigmoid", "exp", "sin", "log1p", "erf", "sqrt"):
        x = leaf(lib, 0.3, 1.7, device=dev)
        (g,) = lib.autograd.grad(getattr(x, name)().sum(), x, create_graph=True)
        (gg,) = lib.autograd.grad((g * g).sum(), x)
        out.append(gg)
    return out


def differentiates_a_network_twice(lib, dev):
    w, b = leaf(lib, [0.1, -0.2], [0.3, 0.4], device=dev), leaf(lib, 0.05, -0.1, device=dev)
    x = leaf(lib, [1.0, 2.0], [-1.0, 0.5], [0.3, -0.7], device=dev)
    logits = (x @ w.t() + b).tanh()
    loss = -(lib.log_softmax(logits, 1)[:, 0]).mean()
    (gx,) = lib.autograd.grad(loss, x, create_graph=True)
    penalty = ((gx * gx).sum(1) + 1e-6).sqrt().mean()
    penalty.backward()
    return w.grad, b.grad, x.grad


def grad_leaves_grad_alone(lib, dev):
    x, y = leaf(lib, 1.0, device=dev), leaf(lib, 2.0, device=dev)
    grads = lib.autograd.grad((x * y).sum(), [x, y])
    return grads, x.grad, y.grad


def grad_of_what_is_not_used(lib, dev):
    x, y = leaf(lib, 1.0, device=dev), leaf(lib, 2.0, device=dev)
    unused = lib.autograd.grad(x.sum(), [x, y], allow_unused=True)
    zeros = lib.autograd.grad(x.sum(), [x, y], materialize_grads=True)
    return unused, zeros


def grad_at_an_inner_tensor(lib, dev):
    x = leaf(lib, 3.0, device=dev)
    y = x * x
    z = y * 2
    return lib.autograd.grad(z, [y, x], grad_outputs=lib.ones_like(z))


def backward_into_some_inputs_only(lib, dev):
    x, y = leaf(lib, 1.0, device=dev), leaf(lib, 2.0, device=dev)
    (x * y).sum().backward(inputs=[x])
    return x.grad, y.grad


def several_roots(lib, dev):
    x = leaf(lib, 1.0, 2.0, device=dev)
    lib.autograd.backward([x * 2, (x * 3).sum()], [lib.tensor([1.0, -1.0], device=dev), None])
    return x.grad


def the_same_root_twice(lib, dev):
    x = leaf(lib, 1.0, 2.0, device=dev)
    y = (x * 2).sum()
    lib.autograd.backward([y, y])
    return x.grad


def a_leaf_as_root(lib, dev):
    x = leaf(lib, 1.0, device=dev)
    x.backward()
    x.backward(lib.tensor([4.0], device=dev))
    return x.grad


def broadcasting_sums_back(lib, dev):
    x, y = leaf(lib, [1.0], [2.0], device=dev), leaf(lib, 3.0, 4.0, 5.0, device=dev)
    z = lib.tensor(2.0, device=dev, requires_grad=True)
    (x * y + z).sum().backward()
    return x.grad, y.grad, z.grad


def dtypes_come_back(lib, dev):
    x = lib.tensor([1.0, 2.0], dtype=lib.float16, device=dev, requires_grad=True)
    y = lib.tensor([3.0, 4.0], dtype=lib.float64, device=dev, requires_grad=True)
    (x * y).sum().backward()
    return str(x.grad.dtype), str(y.grad.dtype), x.grad, y.grad


def casts_are_differentiable(lib, dev):
    x = leaf(lib, 1.0, 2.0, device=dev)
    (x.double() * 3).sum().backward()
    return str(x.grad.dtype), x.grad


def hooks_change_gradients_in_order(lib, dev):
    x = leaf(lib, 1.0, 2.0, device=dev)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(plain(g)))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(plain(g)))
    removed = y.register_hook(lambda g: g * 1000)
    removed.remove()
    x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: seen.append(plain(g)))
    (y * 3).sum().backward()
    return seen, x.grad


def a_hook_on_a_leaf_sees_each_pass(lib, dev):
    x = leaf(lib, 1.0, device=dev)
    seen = []
    x.register_hook(lambda g: seen.append(plain(g)))
    (x * 2 + x * 3).backward()
    (x * 5).backward()
    return seen, x.grad


def hooks_with_grad(lib, dev):
    x = leaf(lib, 1.0, device=dev)
    y = x * 2
    y.register_hook(lambda g: g * 7)
    return lib.autograd.grad(y * 3, [x, y])


def hooks_at_the_end_of_grad(lib, dev):
    x = leaf(lib, 1.0, device=dev)
    y = x * 2
    y.register_hook(lambda g: g * 7)
    return lib.autograd.grad(y * 3, [y])


def hooks_and_create_graph(lib, dev):
    x = leaf(lib, 2.0, device=dev)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = lib.autograd.grad(g.sum(), x)
    return g, gg


def retained_gradients(lib, dev):
    x = leaf(lib, 1.0, 2.0, device=dev)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    z = (y * 3).sum()
    z.backward(retain_graph=True)
    first = plain(y.grad)
    z.backward()
    return first, y.grad, y.retains_grad, x.retains_grad, x.grad


def no_grad_records_nothing(lib, dev):
    x = leaf(lib, 1.0, device=dev)
    with lib.no_grad():
        y = x * 2
        with lib.enable_grad():
            z = x * 3
    with lib.set_grad_enabled(False):
        w = x * 4
    return (
        y.requires_grad,
        z.requires_grad,
        w.requires_grad,
        (x * 5).requires_grad,
        y.is_leaf,
        lib.is_grad_enabled(),
    )


def no_grad_as_a_decorator(lib, dev):
    @lib.no_grad()
    def double(x):
        return x * 2

    return double(leaf(lib, 1.0, device=dev)).requires_grad, lib.is_grad_enabled()


def no_grad_is_left_by_an_exception(lib, dev):
    try:
        with lib.no_grad():
            raise KeyError
    except KeyError:
        pass
    return lib.is_grad_enabled()


def detach_shares_memory_and_version(lib, dev):
    x = leaf(lib, 1.0, 2.0, device=dev)
    y = x * 2
    d = y.detach()
    before = y._version
    d.zero_()
    return y, d.requires_grad, d.is_leaf, y._version - before, d._version == y._version


def data_has_a_version_of_its_own(lib, dev):
    x = leaf(lib, 1.0, 2.0, device=dev)
    y = x * x
    x.data.mul_(10)
    y.sum().backward()
    return x, x.grad


def leaves_can_be_changed_in_no_grad(lib, dev):
    x = leaf(lib, 1.0, 2.0, device=dev)
    with lib.no_grad():
        x.add_(1)
        x[0] = 7
    (x * x).sum().backward()
    return x.is_leaf, x.grad, x._version


def writes_through_a_row(lib, dev):
    w = leaf(lib, 1.0, 2.0, device=dev)
    x = lib.zeros(3, 2, device=dev)
    x[0] = w * 2
    x[1] = w * 3
    (x * lib.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device=dev)).sum().backward()
    return w.grad, x.requires_grad


def overwrites_cut_the_gradient(lib, dev):
    w, v = leaf(lib, 1.0, 2.0, device=dev), leaf(lib, 3.0, 4.0, device=dev)
    x = w * 2
    x[0] = v[1]
    x.mul_(3)
    (x * x).sum().backward()
    return w.grad, v.grad


def views_see_writes_to_the_base(lib, dev):
    w = leaf(lib, [1.0, 2.0], [3.0, 4.0], device=dev)
    x = w * 1
    row, column = x[0], x[:, 1]
    x.mul_(2)
    (row.sum() * 3 + column.sum()).backward()
    return w.grad


def bases_see_writes_to_views(lib, dev):
    w = leaf(lib, [1.0, 2.0], [3.0, 4.0], device=dev)
    x = w * 1
    x[0].mul_(2)
    x.t()[1].add_(x[:, 0].detach())
    x.view(4)[2:].exp_()
    (x * lib.tensor([[1.0, 2.0], [3.0, 4.0]], device=dev)).sum().backward()
    return x, w.grad


def views_of_views(lib, dev):
    w = leaf(lib, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, device=dev)
    x = w * 1
    inner = x.view(2, 3).t()[1:]
    inner.mul_(lib.tensor([[2.0, 3.0], [4.0, 5.0]], device=dev))
    other = x[1:3]
    (other * other).sum().backward()
    return w.grad


def a_tensor_written_to_by_one_that_requires_grad(lib, dev):
    w = leaf(lib, 2.0, 3.0, device=dev)
    x = lib.ones(2, device=dev)
    x.mul_(w)
    x.add_(w, alpha=2)
    x.sum().backward()
    return x.requires_grad, x.is_leaf, w.grad


def writes_that_need_the_old_value(lib, dev):
    w = leaf(lib, 0.5, 2.0, device=dev)
    x = w * 1
    x.sin_()
    x.mul_(w)
    x.div_(w + 1)
    x[0].mul_(w[1])
    x[1].square_()
    x.pow_(3)
    (g,) = lib.autograd.grad(x.sum(), w, create_graph=True)
    (gg,) = lib.autograd.grad(g.sum(), w)
    return g, gg


def copies_carry_gradients(lib, dev):
    w = leaf(lib, 2.0, 3.0, device=dev)
    x = lib.ones(2, 2, device=dev)
    x.copy_(w)
    (x * lib.tensor([[1.0, 2.0], [3.0, 4.0]], device=dev)).sum().backward()
    return w.grad


def masks_and_choices(lib, dev):
    x = leaf(lib, -1.0, 0.0, 2.0, device=dev)
    y = lib.where(x > 0, x * 2, x * 3) + x.relu() + x.abs() + x.clamp(-0.5, 1.0) + x.masked_fill(x > 1, 5.0)
    y.sum().backward()
    return x.grad


def ties_share_the_gradient(lib, dev):
    x, y = leaf(lib, 1.0, 2.0, 2.0, device=dev), leaf(lib, 1.0, 3.0, 1.0, device=dev)
    lib.maximum(x, y).sum().backward()
    z = leaf(lib, 5.0, 5.0, 1.0, device=dev)
    z.amax().backward()
    first = plain(z.grad)
    z.grad = None
    z.max(0).values.backward()
    return x.grad, y.grad, first, z.grad


def requires_grad_spreads(lib, dev):
    x, c = leaf(lib, 1.0, device=dev), lib.ones(1, device=dev)
    return (
        (x + c).requires_grad,
        (c + c).requires_grad,
        (x > 0).requires_grad,
        x.detach().requires_grad,
        x.argmax().requires_grad,
    )


def unused_parts_get_no_gradient(lib, dev):
    x = leaf(lib, [1.0, 2.0], [3.0, 4.0], device=dev)
    a, b = x.unbind(0)
    b.sum().backward()
    return x.grad


def cloned_leaves(lib, dev):
    x = leaf(lib, 1.0, device=dev)
    y = x.clone().requires_grad_()
    (y * 2).backward()
    return x.grad, y.is_leaf


def grad_can_be_assigned(lib, dev):
    x = leaf(lib, 1.0, device=dev)
    x.grad = lib.tensor([5.0], device=dev)
    (x * 2).backward()
    kept = plain(x.grad)
    x.grad = None
    return kept, x.grad


def create_graph_keeps_history_in_grad(lib, dev):
    x = leaf(lib, 3.0, device=dev)
    lib.autograd.backward((x**3).sum(), create_graph=True)
    return x.grad.requires_grad, x.grad


def checks_of_gradients_take_as_many_random_numbers(lib, dev):
    x, drawn = lib.tensor([0.5, -1.5, 2.0], dtype=lib.float64, requires_grad=True), []
    lib.manual_seed(0)
    check, twice = lib.autograd.gradcheck, lib.autograd.gradgradcheck
    for made in (
        lambda: check(lib.sin, x),
        lambda: check(lib.sin, x, fast_mode=True, check_forward_ad=True),
        lambda: twice(lib.sin, x),
        lambda: twice(lib.sin, x, gen_non_contig_grad_outputs=True),
    ):
        drawn += [made(), lib.rand(1)]
    return drawn


def the_graph_has_names(lib, dev):
    x = leaf(lib, 1.0, device=dev)
    y = (x * 2 + 1).exp().sum()
    names, node = [], y.grad_fn
    while node is not None:
        names.append(node.name().replace("struct ", "").split("::")[-1])
        node = next((n for n, _ in node.next_functions if n is not None), None)
    return names


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", None) == __name__ and name not in ("plain", "leaf")
]


@pytest.mark.filterwarnings("ignore:Using backward\\(\\) with create_graph=True")
@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_the_program_gives_what_pytorch_gives(program, device):
    assert plain(program(mindtorch_v2, device)) == plain(program(torch, "cpu"))
