"""Training with sparse tensors: the losses are PyTorch's, on cpu and npu."""

import warnings

import numpy as np
import pytest
import torch

import mindtorch_v2


def graph(nodes=200, edges=1600):
    """Places and weights of a normalised adjacency matrix with self loops."""
    draw = np.random.default_rng(3)
    keys = np.unique(np.concatenate([draw.integers(0, nodes * nodes, edges), np.arange(nodes) * (nodes + 1)]))
    row, column = keys // nodes, keys % nodes
    degree = np.bincount(row, minlength=nodes)
    return np.stack([row, column]), (1 / np.sqrt(degree[row] * degree[column])).astype("float32"), nodes


class Draws:
    """The same numbers for both libraries."""

    def __init__(self, library, device, seed=5):
        self.torch, self.device, self.numbers = library, device, np.random.default_rng(seed)

    def normal(self, *shape, scale=0.3):
        made = (self.numbers.standard_normal(shape) * scale).astype("float32")
        return self.torch.tensor(made).to(self.device)

    def integers(self, high, *shape):
        return self.torch.tensor(self.numbers.integers(0, high, shape)).to(self.device)


def train_graph_network(library, device, layout, product):
    """A graph convolutional network of two layers, whose edges have weights that are trained as well."""
    places, weights, nodes = graph()
    draw = Draws(library, device)
    x, wanted = draw.normal(nodes, 16, scale=1), draw.integers(4, nodes)
    layers = [draw.normal(16, 32).requires_grad_(), draw.normal(32, 4).requires_grad_()]
    edges = library.tensor(weights).to(device).requires_grad_()
    at = library.tensor(places).to(device)
    optimizer = library.optim.Adam([*layers, edges], lr=0.02)
    losses = []
    for _ in range(12):
        adjacency = library.sparse_coo_tensor(at, edges, (nodes, nodes), is_coalesced=True)
        if layout == "csr":
            adjacency = adjacency.to_sparse_csr()
        hidden = library.relu(product(library, adjacency, x @ layers[0]))
        scores = product(library, adjacency, hidden @ layers[1])
        loss = library.nn.functional.cross_entropy(scores, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


PRODUCTS = {"@": lambda t, a, b: a @ b, "sparse.mm": lambda t, a, b: t.sparse.mm(a, b)}


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("layout", ["coo", "csr"])
@pytest.mark.parametrize("product", PRODUCTS)
def test_a_graph_network_has_pytorchs_losses(product, layout, device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # PyTorch adds gradients by rows only where it was built with MKL.
        wanted = train_graph_network(torch, "cpu", "coo", PRODUCTS[product])
    found = train_graph_network(mindtorch_v2, device, layout, PRODUCTS[product])
    assert found == pytest.approx(wanted, rel=2e-4)
    assert found[-1] < 0.8 * found[0]


def train_table(library, device, rows, bag, make):
    """A table of words, looked up in batches; only the rows of a batch move."""
    draw = Draws(library, device)
    table = draw.normal(rows, 8)
    kind = library.nn.EmbeddingBag if bag else library.nn.Embedding
    layer = kind(rows, 8, sparse=True, _weight=table)
    head = draw.normal(8, 3).requires_grad_()
    optimizer, dense = make(library, layer), library.optim.SGD([head], lr=0.1)
    losses = []
    for _ in range(8):
        words, wanted = draw.integers(rows, 64, 4), draw.integers(3, 64)
        words[:, 0] = wanted  # a word that says it
        found = layer(words)
        scores = (found if bag else found.mean(1)) @ head
        loss = library.nn.functional.cross_entropy(scores, wanted)
        optimizer.zero_grad()
        dense.zero_grad()
        loss.backward()
        assert layer.weight.grad.is_sparse and layer.weight.grad._nnz() <= 64 * 4
        optimizer.step()
        dense.step()
        losses.append(loss.item())
    return losses


OPTIMIZERS = {
    "SparseAdam": lambda t, m: t.optim.SparseAdam(list(m.parameters()), lr=0.05),
    "SparseAdam, ascending": lambda t, m: t.optim.SparseAdam(list(m.parameters()), lr=0.01, maximize=True),
    "SGD": lambda t, m: t.optim.SGD(m.parameters(), lr=0.5),
    "SGD with momentum": lambda t, m: t.optim.SGD(m.parameters(), lr=0.5, momentum=0.9),
    "SGD of Nesterov": lambda t, m: t.optim.SGD(m.parameters(), lr=0.5, momentum=0.9, nesterov=True),
    "Adagrad": lambda t, m: t.optim.Adagrad(m.parameters(), lr=0.3, lr_decay=0.1),
}


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("bag", [False, True], ids=["Embedding", "EmbeddingBag"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_table_with_sparse_gradients_has_pytorchs_losses(name, bag, device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = train_table(torch, "cpu", 100, bag, OPTIMIZERS[name])
    found = train_table(mindtorch_v2, device, 100, bag, OPTIMIZERS[name])
    assert found == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_a_table_of_a_million_rows_trains_with_sparse_adam(device):
    wanted = train_table(torch, "cpu", 1_000_000, False, OPTIMIZERS["SparseAdam"])
    found = train_table(mindtorch_v2, device, 1_000_000, False, OPTIMIZERS["SparseAdam"])
    assert found == pytest.approx(wanted, rel=1e-4)
    assert found[-1] < found[0]
