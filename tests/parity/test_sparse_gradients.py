"""Gradients through operators on sparse tensors: of which layout they are and what is in them, against PyTorch's."""

import warnings

import pytest
import torch

import mindtorch_v2

OPERATIONS = {
    "mm": lambda t, s, d: t.mm(s, d),
    "matmul": lambda t, s, d: s @ d,
    "sparse.mm": lambda t, s, d: t.sparse.mm(s, d),
    "addmm": lambda t, s, d: t.addmm(t.ones(2, 2, device=d.device), s, d, beta=2, alpha=3),
    "sparse.addmm": lambda t, s, d: t.sparse.addmm(t.ones(2, 2, device=d.device), s, d, beta=2, alpha=3),
    "mv": lambda t, s, d: t.mv(s, d[:, 0]),
    "dense times sparse": lambda t, s, d: t.mm(d[:2].t(), s),
    "to_dense": lambda t, s, d: s.to_dense(),
    "to_dense, not masked": lambda t, s, d: s.to_dense(masked_grad=False),
    "values": lambda t, s, d: s.values(),
    "coalesce": lambda t, s, d: s.coalesce().values(),
    "sum": lambda t, s, d: s.sum(),
    "sparse.sum": lambda t, s, d: t.sparse.sum(s),
    "sparse.sum of rows": lambda t, s, d: t.sparse.sum(s, 1),
    "mul by a number": lambda t, s, d: s * 2,
    "mul by dense": lambda t, s, d: s * d.t(),
    "mul by sparse": lambda t, s, d: s * s,
    "neg": lambda t, s, d: -s,
    "abs": lambda t, s, d: s.abs(),
    "relu": lambda t, s, d: s.relu(),
    "add": lambda t, s, d: s + s,
    "dense plus sparse": lambda t, s, d: d.t() + s,
    "t": lambda t, s, d: s.t(),
    "pow": lambda t, s, d: s.pow(2),
    "div": lambda t, s, d: s / 2,
    "to_sparse_csr": lambda t, s, d: s.to_sparse_csr(),
    "to_sparse": lambda t, s, d: s.to_sparse(),
    "clone": lambda t, s, d: s.clone(),
    "double": lambda t, s, d: s.double(),
    "select": lambda t, s, d: s[0],
    "cat": lambda t, s, d: t.cat([s, s]),
    "index_select": lambda t, s, d: s.index_select(1, t.tensor([0, 2], device=d.device)),
    "softmax": lambda t, s, d: t.sparse.softmax(s, 1),
    "log_softmax": lambda t, s, d: t.sparse.log_softmax(s, 1),
    "sparse_mask of dense": lambda t, s, d: d.t().sparse_mask(s.detach()),
    "sparse_mask of sparse": lambda t, s, d: s.sparse_mask(s.detach()),
    "sparse times sparse": lambda t, s, d: t.sparse.mm(s, s.detach().t()),
    "mm of sparse": lambda t, s, d: t.mm(s, s.detach().t()),
    "sampled_addmm": lambda t, s, d: t.sparse.sampled_addmm(s, t.ones(2, 2, device=d.device), d.t(), beta=2),
    "linear": lambda t, s, d: t.nn.functional.linear(d.t(), s),
}


def shown(value):
    if value is None:
        return None
    numbers = [round(number, 4) for number in value.detach().to_dense().cpu().reshape(-1).tolist()]
    return str(value.layout), list(value.shape), numbers


def outcomes(library, name, layout, device):
    """The value and the gradients for each kind of incoming gradient; None where something is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s = library.tensor([[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]]).to(device).to_sparse()
        s = (s if layout == "coo" else s.to_sparse_csr()).detach().requires_grad_()
        d = library.arange(6.0).reshape(3, 2).to(device).requires_grad_()
        try:
            made = OPERATIONS[name](library, s, d)
        except (RuntimeError, NotImplementedError):
            return {}
        found = {"value": shown(made)}
        dense = made.layout is library.strided
        for kind in ("dense",) if dense else ("dense", "sparse", "through to_dense"):
            s.grad = d.grad = None
            try:
                if kind == "dense":
                    made.backward(library.ones(made.shape, dtype=made.dtype).to(device), retain_graph=True)
                elif kind == "sparse":
                    made.backward(made.detach().clone(), retain_graph=True)
                else:
                    made.to_dense().sum().backward(retain_graph=True)
            except (RuntimeError, NotImplementedError):
                continue
            found[kind] = shown(s.grad), shown(d.grad)
    return found


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("layout", ["coo", "csr"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_values_and_gradients_are_pytorchs(name, layout, device):
    wanted = outcomes(torch, name, layout, "cpu")
    found = outcomes(mindtorch_v2, name, layout, device)
    assert {kind: found.get(kind) for kind in wanted} == wanted


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_values_that_a_tensor_is_made_of_get_its_gradient(layout, device):
    found = []
    for library, where in ((mindtorch_v2, device), (torch, "cpu")):
        v = library.tensor([3.0, 4.0, 5.0], device=where).requires_grad_()
        if layout == "coo":
            made = library.sparse_coo_tensor(library.tensor([[0, 1, 1], [2, 0, 2]], device=where), v, (2, 3))
        else:
            crow = library.tensor([0, 1, 3], device=where)
            made = library.sparse_csr_tensor(crow, library.tensor([2, 0, 2], device=where), v, (2, 3))
        (library.mm(made, library.arange(6.0, device=where).reshape(3, 2)) ** 2).sum().backward()
        found.append(v.grad.tolist())
    assert found[0] == found[1]
