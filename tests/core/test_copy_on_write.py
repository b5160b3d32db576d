"""Lazy clones: storages that share their bytes until one of them is written (Note [Copy on write])."""

import copy
import gc
import threading

import numpy as np
import pytest

import mindtorch_v2 as torch

_C = torch._C
# Small storages have their bytes behind their header, larger ones in a block of their own.
SIZES = (4, 5000)
DEVICES = ("cpu", "npu")
everywhere = pytest.mark.parametrize("device", DEVICES)
of_both_kinds = pytest.mark.parametrize("size", SIZES)


def shares(a, b):
    return _C._data_address(a) == _C._data_address(b)


def lazy(size, device="cpu"):
    first = torch.arange(float(size), device=device)
    return first, first._lazy_clone()


@everywhere
@of_both_kinds
def test_a_lazy_clone_has_a_storage_of_its_own_and_the_same_bytes(size, device):
    first, clone = lazy(size, device)
    assert _C._storage_address(first) != _C._storage_address(clone)
    assert shares(first, clone) and _C._is_cow_tensor(first) and _C._is_cow_tensor(clone)
    assert clone._base is None and clone._version == 0
    assert torch.equal(first, clone)


@everywhere
@of_both_kinds
@pytest.mark.parametrize("written", [0, 1])
def test_a_write_to_one_is_not_seen_by_the_other(size, device, written):
    pair = lazy(size, device)
    before = pair[0].tolist()
    pair[written].add_(1)
    assert pair[written].tolist() == [v + 1 for v in before]
    assert pair[1 - written].tolist() == before
    assert not _C._is_cow_tensor(pair[written]) and _C._is_cow_tensor(pair[1 - written])


@everywhere
@of_both_kinds
def test_views_follow_their_storage_when_it_gets_bytes_of_its_own(size, device):
    first, clone = lazy(size, device)
    view = first[1:3]
    view.mul_(-1)
    assert first[:4].tolist() == [0, -1, -2, 3] and clone[:4].tolist() == [0, 1, 2, 3]
    assert view.tolist() == [-1, -2]


@everywhere
@of_both_kinds
@pytest.mark.parametrize("survivor", [0, 1])
def test_the_last_holder_of_shared_bytes_keeps_them(size, device, survivor):
    pair = list(lazy(size, device))
    address, left = _C._data_address(pair[0]), pair[survivor]
    pair.clear()
    left.add_(1)
    assert _C._data_address(left) == address and not _C._is_cow_tensor(left)
    assert left[:3].tolist() == [1, 2, 3]


@of_both_kinds
def test_a_clone_outlives_the_tensor_whose_bytes_it_reads(size):
    first, clone = lazy(size)
    second = clone._lazy_clone()
    first.zero_()
    del first
    gc.collect()
    torch.ones(size)  # takes freed memory, if there is any
    assert clone[:3].tolist() == second[:3].tolist() == [0, 1, 2]
    clone.zero_()
    assert second[:3].tolist() == [0, 1, 2]
    del clone
    assert second.add_(1)[:3].tolist() == [1, 2, 3]


WRITES = {
    "out": lambda t: torch.add(torch.ones_like(t), 1, out=t),
    "out of another size": lambda t: torch.add(torch.ones(2, device=t.device), 1, out=t),
    "indexing": lambda t: t.__setitem__(0, 7.0),
    "copy_": lambda t: t.copy_(torch.ones_like(t)),
    "random": lambda t: t.uniform_(),
    "lists of tensors": lambda t: torch._foreach_add_([t], 1),
    "storage": lambda t: t.untyped_storage().fill_(1),
    "resizing": lambda t: t.untyped_storage().resize_(t.nbytes * 2),
    "shared": lambda t: t.share_memory_() if t.device.type == "cpu" else t.add_(1),
    "fused optimizers": lambda t: torch._fused_sgd_(
        [t], [torch.ones_like(t)], [], weight_decay=0, momentum=0, lr=1, dampening=0, nesterov=False,
        maximize=False, is_first_step=True,
    ),
    "statistics": lambda t: torch.nn.functional.batch_norm(
        torch.randn(3, t.numel(), device=t.device), t, torch.ones_like(t), training=True
    ),
    "composites": lambda t: t.clamp_(0, 1),
    "a program's operator": lambda t: t.masked_fill_(torch.ones_like(t, dtype=torch.bool), 5),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:An output with one or more elements")
@everywhere
@pytest.mark.parametrize("write", list(WRITES.values()), ids=list(WRITES))
def test_whatever_writes_gets_bytes_of_its_own_first(write, device):
    first, clone = lazy(4, device)
    write(clone)
    assert not _C._is_cow_tensor(clone)
    assert first.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("handed_out", [
    lambda t: t.data_ptr(),
    lambda t: t.numpy(),
    lambda t: np.asarray(t),
    lambda t: t.__dlpack__(),
    lambda t: t.untyped_storage().data_ptr(),
])  # fmt: skip
def test_who_is_given_an_address_may_write_there(handed_out):
    _first, clone = lazy(4)
    keep = handed_out(clone)
    assert not _C._is_cow_tensor(clone)
    del keep


def test_a_write_through_numpy_stays_in_the_tensor():
    first, clone = lazy(4)
    clone.numpy()[0] = 9
    assert first.tolist() == [0, 1, 2, 3] and clone.tolist() == [9, 1, 2, 3]


READS = {
    "arithmetic": lambda t: t + t,
    "item": lambda t: t[1].item(),
    "lists": lambda t: t.tolist(),
    "printing": repr,
    "clone": lambda t: t.clone(),
    "deepcopy": copy.deepcopy,
    "views": lambda t: t.view(2, 2).t(),
    "products": lambda t: t @ t,
    "another": lambda t: t._lazy_clone(),
}


@everywhere
@pytest.mark.parametrize("read", list(READS.values()), ids=list(READS))
def test_reading_copies_nothing(read, device):
    first, clone = lazy(4, device)
    read(clone)
    assert _C._is_cow_tensor(clone) and shares(first, clone)


def test_memory_of_others_is_copied_at_once():
    array = np.arange(4.0)
    clone = torch.from_numpy(array)._lazy_clone()
    array[0] = 9
    assert not _C._is_cow_tensor(clone) and clone.tolist() == [0, 1, 2, 3]


def test_gradients_pass_through_lazy_clones():
    x = torch.arange(3.0, requires_grad=True)
    y = x._lazy_clone()
    assert type(y.grad_fn).__name__ == "LazyCloneBackward0"
    y.mul_(2)
    (y * y).sum().backward()
    assert x.grad.tolist() == [0, 8, 16] and x.tolist() == [0, 1, 2]


def test_what_was_saved_for_backward_does_not_mind_a_write_to_the_clone():
    x = torch.ones(3, requires_grad=True)
    weight = torch.full((3,), 2.0)
    product = x * weight
    weight._lazy_clone().zero_()
    product.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_windows_strides_and_offsets_are_those_of_the_first():
    window = torch.arange(12.0).view(3, 4).t()[1:]
    clone = window._lazy_clone()
    assert (clone.stride(), clone.storage_offset()) == (window.stride(), window.storage_offset())
    clone.zero_()
    assert window.sum() == sum(range(12)) - (0 + 4 + 8)


def test_tensors_without_memory_have_lazy_clones_too():
    assert torch.empty(2, 3, device="meta")._lazy_clone().shape == (2, 3)
    assert torch.empty(0)._lazy_clone().tolist() == []


def test_threads_that_write_clones_at_once_each_get_their_bytes():
    first = torch.zeros(5000)
    clones = [first._lazy_clone() for _ in range(8)]
    workers = [threading.Thread(target=clone.add_, args=(i + 1,)) for i, clone in enumerate(clones)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [clone.unique().item() for clone in clones] == list(range(1, 9))
    assert first.unique().item() == 0


@pytest.mark.parametrize("parts", [1, 10])
def test_a_loop_over_threads_must_not_ask_for_an_address_to_write_to(parts):
    first, clone = lazy(4)
    with pytest.raises(RuntimeError, match="Materializing a storage in the loop function"):
        torch._test_parallel_materialize(clone, parts, False)
    torch._test_parallel_materialize(torch.ones(2), parts, False)


def test_lazy_clones_under_vmap_and_forward_mode():
    batch = torch.arange(6.0).view(2, 3)
    assert torch.equal(torch.func.vmap(lambda row: row._lazy_clone().mul(2))(batch), batch * 2)
    _, tangent = torch.func.jvp(lambda x: x._lazy_clone() * 3, (batch,), (torch.ones_like(batch),))
    assert torch.equal(tangent, torch.full_like(batch, 3))
