"""Pieces of a tensor (unbind, split, chunk and their like): gradients, and what may be written where."""

import numpy as np
import pytest

CUTS = {
    "unbind": lambda y: y.unbind(1),
    "iteration": lambda y: list(y),
    "split": lambda y: y.split(4),
    "split by sizes": lambda y: y.split([1, 2, 3]),
    "split_with_sizes": lambda y: y.split_with_sizes([3, 0, 3]),
    "chunk": lambda y: y.chunk(4),
    "more chunks than rows": lambda y: y.chunk(8),
    "chunks of nothing": lambda y: y[:0].chunk(2),
    "split of the last dimension": lambda y: y.split(2, -1),
    "unsafe_split": lambda y: y.unsafe_split(2),
    "unsafe_chunk": lambda y: y.unsafe_chunk(2),
    "tensor_split": lambda y: y.tensor_split(4),
    "hsplit": lambda y: y.hsplit(3),
}


def numbers(tensor):
    return np.array(tensor.tolist())


def start(library, device="cpu", requires_grad=True):
    return library.arange(18.0).reshape(6, 3).to(device).requires_grad_(requires_grad)


def name(node):
    return None if node is None else node.name()


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("used", ["all", "first", "last"])
@pytest.mark.parametrize("cut", CUTS)
def test_gradients_are_joined(both, cut, used, device):
    def program(library, where):
        x = start(library, where)
        pieces = CUTS[cut](x * 2)
        nodes = [name(p.grad_fn) for p in pieces]
        chosen = {"all": pieces, "first": pieces[:1], "last": pieces[-1:]}[used]
        sum((p * p).sum() * (i + 1) for i, p in enumerate(chosen)).backward()
        return nodes, [p.output_nr for p in pieces], x.grad.cpu().tolist()

    torch, ours = both
    assert program(ours, device) == program(torch, "cpu")


@pytest.mark.parametrize("cut", ["unbind", "split", "split by sizes", "chunk"])
def test_a_joined_gradient_can_be_differentiated_again(both, cut):
    def program(library):
        x = start(library)
        first, *_, last = CUTS[cut](x * x)
        (grad,) = library.autograd.grad((first * first).sum() + last.sum(), x, create_graph=True)
        (grad * grad).sum().backward()
        return grad.tolist(), x.grad.tolist()

    torch, ours = both
    assert program(ours) == program(torch)


def write_a_piece(library, cut):
    y = start(library) * 2
    pieces = cut(y)
    pieces[0].mul_(3)
    return y.sum()


def write_a_piece_of_a_leaf(library, cut):
    cut(start(library))[0].mul_(3)


def write_a_piece_without_gradients(library, cut):
    y = start(library, requires_grad=False)
    pieces = cut(y)
    pieces[0].mul_(3)
    return y


def write_a_piece_under_no_grad(library, cut):
    pieces = cut(start(library) * 2)
    with library.no_grad():
        pieces[0].mul_(3)
    return pieces[0].sum()


def write_the_base(library, cut):
    y = start(library) * 2
    pieces = cut(y)
    y.mul_(3)
    return pieces[1].sum()


def write_the_base_under_no_grad(library, cut):
    y = start(library) * 2
    pieces = cut(y)
    with library.no_grad():
        y.mul_(3)
    return pieces[0].sum()


def write_a_leaf_under_no_grad(library, cut):
    x = start(library)
    pieces = cut(x)
    with library.no_grad():
        x.mul_(3)
    return pieces[0].sum()


def write_a_window_of_a_piece(library, cut):
    cut(start(library) * 2)[0][:1].mul_(3)


def write_a_piece_cut_under_no_grad(library, cut):
    y = start(library) * 2
    with library.no_grad():
        pieces = cut(y)
    pieces[0].mul_(2)


def write_what_needs_a_gradient_into_a_piece(library, cut):
    pieces = cut(start(library, requires_grad=False))
    pieces[0].mul_(library.ones((), requires_grad=True))


WRITES = [
    write_a_piece,
    write_a_piece_of_a_leaf,
    write_a_piece_without_gradients,
    write_a_piece_under_no_grad,
    write_the_base,
    write_the_base_under_no_grad,
    write_a_leaf_under_no_grad,
    write_a_window_of_a_piece,
    write_a_piece_cut_under_no_grad,
    write_what_needs_a_gradient_into_a_piece,
]


@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("cut", ["unbind", "split", "split_with_sizes", "chunk"])
def test_writes_are_let_through_or_refused_as_in_pytorch(both, cut, write):
    def outcome(library):
        try:
            made = write(library, CUTS[cut])
        except RuntimeError as error:
            return str(error)
        return None if made is None else made.tolist()

    torch, ours = both
    assert outcome(ours) == outcome(torch)


def test_unsafe_pieces_have_versions_of_their_own(both):
    def program(library):
        x = start(library)
        y = x * 2
        first, _ = y.unsafe_chunk(2)
        before = y._version
        first.mul_(3)
        (first.sum() + y.sum()).backward()
        return y._version - before, first._version, name(first.grad_fn), x.grad.tolist()

    torch, ours = both
    assert program(ours) == program(torch)
