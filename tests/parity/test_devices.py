"""What does not need a GPU of ``torch.cuda``, ``torch.accelerator``, streams and storages, beside PyTorch."""

import inspect

import pytest
import torch

import mindtorch_v2

OURS = (mindtorch_v2.npu, mindtorch_v2.npu.memory, mindtorch_v2.npu.random)
THEIRS = (torch.cuda, torch.cuda.memory, torch.cuda.random)
# The contract of memory_snapshot and torch_npu's names win over torch.cuda's.
DIFFERENT = {"memory_snapshot", "can_device_access_peer"}


def parameters(function):
    found = inspect.signature(function).parameters.values()
    return [
        (p.name, p.kind, "npu" if p.default == "cuda" else p.default)
        for p in found
        if p.kind is not p.VAR_KEYWORD
    ]


@pytest.mark.parametrize(
    "ours, theirs", list(zip(OURS, THEIRS, strict=True)), ids=lambda module: module.__name__
)
def test_functions_take_what_those_of_torch_cuda_take(ours, theirs):
    compared = 0
    for name in (
        *theirs.__all__,
        "_snapshot",
        "_dump_snapshot",
        "_set_allocator_settings",
        "_get_device_index",
    ):
        function = getattr(theirs, name, None)
        if name in DIFFERENT or not inspect.isfunction(function) or not hasattr(ours, name):
            continue
        assert parameters(getattr(ours, name)) == parameters(function), name
        compared += 1
    assert compared > 3


@pytest.mark.parametrize("name", torch.cuda.memory.__all__)
def test_names_of_torch_cuda_about_memory_can_be_mentioned(name):
    assert callable(getattr(mindtorch_v2.cuda.memory, name))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.cuda.FloatTensor(3),
        lambda t: t.cuda.caching_allocator_alloc(3),
        lambda t: t.cuda.get_sync_debug_mode(),
        lambda t: t.cuda.get_per_process_memory_fraction(),
        lambda t: setattr(t.ones(3), "grad", t.ones(3, device="meta")),
        lambda t: setattr(t.ones(3), "grad", t.ones(3, dtype=t.float64)),
        lambda t: t.Generator().set_state(t.zeros(3)),
        lambda t: t.cuda._is_in_bad_fork(),
    ],
)
def test_what_needs_no_gpu_answers_as_in_pytorch(both, call):
    def outcome(lib):
        try:
            return call(lib)
        except (AssertionError, RuntimeError, TypeError) as error:
            return type(error).__name__, str(error)

    theirs, ours = both
    assert outcome(ours) == outcome(theirs)


def test_an_error_of_an_accelerator_is_the_same_kind_of_error():
    assert [kind.__name__ for kind in mindtorch_v2.AcceleratorError.__mro__] == [
        kind.__name__ for kind in torch.AcceleratorError.__mro__
    ]
    assert mindtorch_v2.cuda.AcceleratorError is mindtorch_v2.AcceleratorError


def test_the_order_of_dimensions_and_the_history_survive_pinning():
    x = mindtorch_v2.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    assert x.pin_memory().stride() == torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1).clone().stride()
    assert x.pin_memory().tolist() == x.tolist() and x.pin_memory().is_pinned()
    w = mindtorch_v2.ones(3, requires_grad=True)
    pinned = w.pin_memory()
    assert pinned.requires_grad and not pinned.is_leaf and pinned.is_pinned()
    pinned.sum().backward()
    assert w.grad.tolist() == [1.0, 1.0, 1.0]
