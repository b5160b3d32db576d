"""Gradients that are sparse: of lookups and of sparse factors; how they are kept, added up and stepped with."""

import copy
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import multiprocessing, optim
from mindtorch_v2.autograd import gradcheck
from mindtorch_v2.nn import functional as F


def table(device):
    return torch.arange(12.0).reshape(4, 3).to(device).requires_grad_()


def test_a_lookup_gives_the_rows_that_were_looked_up(device):
    weight = table(device)
    F.embedding(torch.tensor([1, 3, 1]).to(device), weight, padding_idx=3, sparse=True).sum().backward()
    assert weight.grad.is_sparse and weight.grad._indices().tolist() == [[1, 1]]
    assert weight.grad.to_dense().tolist() == [[0.0] * 3, [2.0] * 3, [0.0] * 3, [0.0] * 3]


def test_bags_have_sparse_gradients_too(device):
    weight = table(device)
    at, offsets = torch.tensor([1, 2, 1]).to(device), torch.tensor([0, 2]).to(device)
    F.embedding_bag(at, weight, offsets, mode="mean", sparse=True).sum().backward()
    assert weight.grad.is_sparse
    assert weight.grad.to_dense().tolist() == [[0.0] * 3, [1.5] * 3, [0.5] * 3, [0.0] * 3]


def test_gather_gives_the_places_that_were_taken(device):
    x = table(device)
    torch.gather(x, 1, torch.tensor([[0, 0], [1, 2]]).to(device), sparse_grad=True).sum().backward()
    assert x.grad.is_sparse
    assert x.grad.to_dense().tolist() == [[2.0, 0, 0], [0, 1.0, 1.0], [0.0] * 3, [0.0] * 3]


def test_sparse_gradients_add_up_and_meet_dense_ones_in_any_order(device):
    at = torch.tensor([0, 1, 1]).to(device)
    weight = table(device)
    F.embedding(at, weight, sparse=True).sum().backward()
    F.embedding(at, weight, sparse=True).sum().backward()
    assert weight.grad.is_sparse and weight.grad.to_dense()[:, 0].tolist() == [2.0, 4.0, 0.0, 0.0]
    weight.sum().backward()
    assert not weight.grad.is_sparse and weight.grad[:, 0].tolist() == [3.0, 5.0, 1.0, 1.0]
    F.embedding(at, weight, sparse=True).sum().backward()
    assert weight.grad[:, 0].tolist() == [4.0, 7.0, 1.0, 1.0]
    for terms in (1, -1):
        weight.grad = None
        losses = [F.embedding(at, weight, sparse=True).sum(), (weight * 2).sum()][::terms]
        (losses[0] + losses[1]).backward()
        assert weight.grad[:, 0].tolist() == [3.0, 4.0, 2.0, 2.0]


def test_hooks_and_grad_see_sparse_gradients():
    weight, seen = table("cpu"), []
    weight.register_hook(lambda grad: seen.append(grad.is_sparse))
    loss = F.embedding(torch.tensor([2]), weight, sparse=True).sum()
    (found,) = torch.autograd.grad(loss, weight, retain_graph=True)
    assert found.is_sparse
    loss.backward()
    assert seen[-1] and weight.grad.is_sparse


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_products_agree_with_finite_differences(layout):
    dense = torch.tensor([[0, 2.0, 0], [1.0, 0, -3.0]], dtype=torch.float64)
    factor = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).requires_grad_()
    made = dense.to_sparse() if layout == "coo" else dense.to_sparse_csr()
    check = torch.sparse.as_sparse_gradcheck(gradcheck)
    assert check(torch.sparse.mm, (made.requires_grad_(), factor), masked=True)
    assert check(
        lambda s: (s * 3).to_dense(masked_grad=True).sin(), (made.detach().requires_grad_(),), masked=True
    )


def test_the_gradient_of_a_sparse_factor_has_its_places(device):
    a = (
        torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3), device=device)
        .coalesce()
        .requires_grad_()
    )
    b = torch.arange(6.0).reshape(3, 2).to(device).requires_grad_()
    torch.sparse.mm(a, b).sum().backward()
    assert a.grad.is_sparse and a.grad.coalesce().values().tolist() == [9.0, 1.0]
    assert b.grad.tolist() == [[4.0, 4.0], [0.0, 0.0], [3.0, 3.0]]


def test_optimizers_that_want_dense_gradients_say_so(device):
    weight = table(device)
    F.embedding(torch.tensor([1]).to(device), weight, sparse=True).sum().backward()
    for kind in (optim.Adam, optim.AdamW, optim.RMSprop, optim.Adadelta, optim.Adamax, optim.NAdam):
        with pytest.raises(RuntimeError, match="does not support sparse gradients"):
            kind([weight]).step()
    weight.grad = torch.ones_like(weight)
    with pytest.raises(
        RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam"
    ):
        optim.SparseAdam([weight]).step()


def test_sparse_adam_moves_only_rows_with_a_gradient(device):
    weight = table(device)
    optimizer = optim.SparseAdam([weight], lr=0.5)
    F.embedding(torch.tensor([1, 1]).to(device), weight, sparse=True).sum().backward()
    optimizer.step()
    moved = (weight.detach().cpu() - torch.arange(12.0).reshape(4, 3)).abs().sum(1)
    assert moved[[0, 2, 3]].tolist() == [0.0, 0.0, 0.0] and moved[1].item() == pytest.approx(1.5, rel=1e-5)
    again = optim.SparseAdam([weight], lr=0.5)
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert again.state[weight]["step"] == 1 and not again.state[weight]["exp_avg"].is_sparse
    optimizer.zero_grad(set_to_none=False)
    assert weight.grad.is_sparse and weight.grad._nnz() == 0


def test_sparse_adam_refuses_sparse_parameters():
    with pytest.raises(ValueError, match="requires dense parameter tensors"):
        optim.SparseAdam([torch.ones(2, 2).to_sparse().requires_grad_()])


def test_a_scaler_undoes_its_scale_in_sparse_gradients(device):
    weight = table(device)
    scaler, optimizer = torch.amp.GradScaler(device, init_scale=8.0), optim.SGD([weight], lr=1.0)
    scaler.scale(F.embedding(torch.tensor([1, 1]).to(device), weight, sparse=True).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.detach()[1].tolist() == [1.0, 2.0, 3.0] and weight.grad.to_dense()[1].tolist() == [2.0] * 3


def test_dense_and_sparse_gradients_share_an_optimizer(device):
    for kind in (optim.SGD, optim.Adagrad):
        weight, bias = table(device), torch.ones(3, device=device).requires_grad_()
        optimizer = kind([weight, bias], lr=0.1)
        (F.embedding(torch.tensor([1]).to(device), weight, sparse=True) + bias).sum().backward()
        optimizer.step()
        assert bias.detach().tolist() == pytest.approx([0.9] * 3)
        assert weight.detach()[1].tolist() == pytest.approx([2.9, 3.9, 4.9])


def _double(given, results):
    results.put((given * 2).to_dense().tolist())


def test_sparse_tensors_cross_processes_and_pickles():
    made = torch.tensor([[0, 2.0], [3.0, 0]]).to_sparse_csr()
    assert pickle.loads(pickle.dumps(made)).to_dense().tolist() == made.to_dense().tolist()
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    worker = context.Process(target=_double, args=(made, results))
    worker.start()
    found = results.get()
    worker.join()
    assert found == [[0.0, 4.0], [6.0, 0.0]]


def test_files_with_places_outside_the_size_are_refused(tmp_path):
    torch.save(torch.sparse_coo_tensor([[0], [9]], [1.0], (2, 3)), tmp_path / "bad.pt")
    for weights_only in (True, False):
        with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
            torch.load(tmp_path / "bad.pt", weights_only=weights_only)
