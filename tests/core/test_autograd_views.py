"""Views and histories: writes through one view of memory are part of the history of all of them."""

import pytest

import mindtorch_v2 as torch

DEVICES = ["cpu", "npu"]
# Views of a base outside the graph, each of six elements.
_VIEWS = {
    "view": lambda **kw: torch.zeros(6, **kw).view(2, 3),
    "reshape": lambda **kw: torch.zeros(6, **kw).reshape(2, 3),
    "t": lambda **kw: torch.zeros(3, 2, **kw).t(),
    "permute": lambda **kw: torch.zeros(3, 2, **kw).permute(1, 0),
    "narrow": lambda **kw: torch.zeros(4, 3, **kw).narrow(0, 1, 2),
    "select": lambda **kw: torch.zeros(2, 2, 3, **kw)[1],
    "slice": lambda **kw: torch.zeros(4, 3, **kw)[::2],
    "unsqueeze": lambda **kw: torch.zeros(6, **kw).unsqueeze(0).view(2, 3),
    "squeeze": lambda **kw: torch.zeros(1, 2, 3, **kw).squeeze(0),
    "unflatten": lambda **kw: torch.zeros(6, **kw).unflatten(0, (2, 3)),
    "flatten": lambda **kw: torch.zeros(2, 1, 3, **kw).flatten(0, 1),
    "diagonal": lambda **kw: torch.zeros(2, 3, 3, **kw).diagonal(dim1=1, dim2=2),
    "mT": lambda **kw: torch.zeros(3, 2, **kw).mT,
    "as_strided": lambda **kw: torch.zeros(9, **kw).as_strided((2, 3), (3, 1)),
    "unfold": lambda **kw: torch.zeros(6, **kw).unfold(0, 3, 3),
    "expand": lambda **kw: torch.zeros(2, 3, **kw).expand(2, 3),
    "swapaxes": lambda **kw: torch.zeros(3, 2, **kw).swapaxes(0, 1),
    "movedim": lambda **kw: torch.zeros(3, 2, **kw).movedim(0, 1),
    "real": lambda **kw: torch.zeros(2, 3, dtype=torch.complex64, **kw).real,
}
# Results that are no views of anything a program can see.
_OWN = {
    "repeat": lambda **kw: torch.zeros(3, **kw).repeat(2, 1),
    "tile": lambda **kw: torch.zeros(3, **kw).tile(2, 1),
    "repeat_interleave": lambda **kw: torch.zeros(1, 3, **kw).repeat_interleave(2, 0),
    "kron": lambda **kw: torch.kron(torch.ones(2, 1, **kw), torch.zeros(1, 3, **kw)),
    "roll": lambda **kw: torch.zeros(2, 3, **kw).roll(1),
    "reshape of a turned matrix": lambda **kw: torch.zeros(3, 2, **kw).t().reshape(6).reshape(2, 3),
    "batched product": lambda **kw: torch.matmul(torch.zeros(1, 2, 4, **kw), torch.zeros(4, 3, **kw))[0],
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", [*_VIEWS, *_OWN])
def test_a_write_through_a_view_of_a_view_gives_the_view_a_history(name, device):
    a = torch.ones(2, device=device, requires_grad=True)
    z = {**_VIEWS, **_OWN}[name](device=device)
    z[:, 0] = a
    assert z.requires_grad and not z.is_leaf and z.grad_fn is not None
    (z * torch.tensor([[2.0, 1, 1], [3.0, 1, 1]], device=device)).sum().backward()
    assert a.grad.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("make", [_OWN[name] for name in ("repeat", "tile", "kron", "roll")])
def test_what_an_operator_copied_is_no_view(make):
    assert not make()._is_view() and make()._base is None
    flat = torch.zeros(3, 2).t().reshape(6)
    assert not flat._is_view()
    assert torch.zeros(6).reshape(2, 3)._is_view()


def test_all_views_of_a_base_hear_of_a_write_through_one_of_them():
    base, a = torch.zeros(6), torch.ones(2, requires_grad=True)
    z = base.view(2, 3)
    first, second = z[:, 0], z[:, 1]
    first.copy_(a)
    assert base.requires_grad and z.requires_grad and first.requires_grad and second.requires_grad
    assert torch.autograd.grad(z.sum(), a, retain_graph=True)[0].tolist() == [1.0, 1.0]
    assert torch.autograd.grad(second.sum(), a)[0].tolist() == [0.0, 0.0]


def test_a_write_without_gradient_leaves_views_outside_the_graph():
    base, a = torch.zeros(6), torch.ones(2, requires_grad=True)
    z = base.view(2, 3)
    with torch.no_grad():
        z[:, 0] = a
    assert not z.requires_grad and not base.requires_grad
    assert z.detach().requires_grad is False


def test_a_view_made_without_gradient_is_not_written_with_one():
    a = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        z = torch.zeros(6).view(2, 3)
    with pytest.raises(RuntimeError, match="view was created in no_grad mode and is being modified inplace"):
        z[:, 0] = a
    assert z.tolist() == [[0.0] * 3] * 2


def test_one_of_many_views_is_not_written_with_a_gradient():
    a = torch.ones(3, requires_grad=True)
    first, _ = torch.zeros(2, 3).unbind(0)
    with pytest.raises(RuntimeError, match="returns multiple views"):
        first.copy_(a)
    assert first.tolist() == [0.0] * 3


def test_hooks_and_retained_gradients_of_a_view_whose_base_was_written():
    base, a = torch.zeros(6), torch.ones(6, requires_grad=True)
    z = base.view(2, 3)
    base.copy_(a)
    seen = []
    z.register_hook(lambda grad: seen.append(grad.tolist()))
    z.retain_grad()
    (2 * z).sum().backward()
    assert seen == [[[2.0] * 3] * 2] and z.grad.tolist() == seen[0] and a.grad.tolist() == [2.0] * 6


@pytest.mark.parametrize(
    "write, kept, reached",
    [
        (lambda y: y.mul_(3), [1.0] * 4, [6.0] * 4),
        (lambda y: y[:2].mul_(3), [1.0] * 4, [6.0, 6.0, 2.0, 2.0]),
        (lambda y: y.mul_(3).mul_(5), [1.0] * 4, [30.0] * 4),
        (lambda y: y.zero_(), [1.0] * 4, [0.0] * 4),
    ],
)
def test_a_retained_gradient_is_that_of_the_tensor_as_it_was_last_written(write, kept, reached):
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    y.retain_grad()
    write(y)
    y.sum().backward()
    assert y.grad.tolist() == kept and x.grad.tolist() == reached


def test_a_retained_gradient_of_a_view_follows_writes_to_its_base():
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    v = y[:2]
    v.retain_grad()
    y.mul_(3)
    (v.sum() * 2).backward()
    assert v.grad.tolist() == [2.0, 2.0] and x.grad.tolist() == [12.0, 12.0, 0.0, 0.0]


def test_a_retained_gradient_comes_after_the_hooks_registered_since_the_write():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: grad * 10)
    y.mul_(3)
    y.register_hook(lambda grad: grad * 7)
    y.sum().backward()
    assert y.grad.tolist() == [7.0] * 3 and x.grad.tolist() == [420.0] * 3
