"""torch.utils.swap_tensors, and modules that convert and load by it (torch.__future__)."""

import weakref

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


@pytest.fixture
def swapping():
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


class Marked(torch.Tensor):
    pass


def test_whoever_holds_a_tensor_has_the_other_afterwards():
    a, b = torch.ones(2), torch.zeros(3, dtype=torch.int64)
    b.mark = "mine"
    held = [a, b]
    torch.utils.swap_tensors(a, b)
    assert held[0] is a
    assert a.dtype == torch.int64
    assert a.mark == "mine"
    assert b.tolist() == [1, 1]
    assert a.fill_(4) is a  # the native tensor finds its object
    assert b.fill_(5) is b


def test_classes_change_places():
    a, b = torch.ones(2), torch.zeros(3).as_subclass(Marked)
    torch.utils.swap_tensors(a, b)
    assert type(a) is Marked
    assert type(b) is torch.Tensor
    parameter, plain = nn.Parameter(torch.ones(2)), torch.zeros(3)
    torch.utils.swap_tensors(parameter, plain)
    assert type(plain) is nn.Parameter
    assert plain.requires_grad


def test_what_refers_to_a_tensor_elsewhere_forbids_it():
    a, b = torch.ones(2), torch.zeros(2)
    watched = weakref.ref(a)
    with pytest.raises(RuntimeError, match="t1 because it has weakref"):
        torch.utils.swap_tensors(a, b)
    del watched
    c = torch.ones(2, requires_grad=True)
    saved = c.exp() * c  # a graph holds c
    with pytest.raises(RuntimeError, match="Expected use_count of t2"):
        torch.utils.swap_tensors(b, c)
    del saved
    torch.utils.swap_tensors(b, c)


def test_slots_must_be_the_same():
    class Slotted(torch.Tensor):
        __slots__ = ("extra",)

    a, b = torch.ones(2).as_subclass(Slotted), torch.ones(3).as_subclass(Slotted)
    a.extra, b.extra = "a", "b"
    torch.utils.swap_tensors(a, b)
    assert (a.extra, b.extra) == ("b", "a")
    with pytest.raises(RuntimeError, match="different slots"):
        torch.utils.swap_tensors(a, torch.ones(2))


def test_a_graph_that_ends_in_a_swapped_leaf_says_so():
    leaf = torch.ones(2, requires_grad=True)
    doubled = leaf * 2
    torch.utils.swap_tensors(leaf, torch.zeros(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="poisoned by swap_tensors"):
        doubled.sum().backward()
    (leaf * 3).sum().backward()  # what comes later is a graph of its own
    assert leaf.grad.tolist() == [3, 3]


def test_modules_convert_by_swapping(swapping):
    module = nn.Linear(2, 2)
    weight = module.weight
    weight.grad = torch.ones(2, 2)
    gradient = weight.grad
    module.double()
    assert module.weight is weight
    assert weight.dtype == gradient.dtype == torch.float64
    assert weight.grad is gradient


def test_modules_load_by_swapping_through_their_classes(swapping):
    class Stored(torch.Tensor):
        def module_load(self, other, assign=False):
            return (other * 2).as_subclass(Stored)

    module = nn.Linear(2, 2, bias=False)
    module.weight = nn.Parameter(torch.zeros(2, 2).as_subclass(Stored))
    weight = module.weight
    module.load_state_dict({"weight": torch.ones(2, 2)})
    assert module.weight is weight
    assert weight.tolist() == [[2, 2], [2, 2]]


def test_a_module_load_that_returns_its_input_is_refused(swapping):
    class Lazy(torch.Tensor):
        def module_load(self, other, assign=False):
            return other

    module = nn.Linear(2, 2, bias=False)
    module.weight = nn.Parameter(torch.zeros(2, 2).as_subclass(Lazy))
    with pytest.raises(RuntimeError, match="module_load returned one of self or other"):
        module.load_state_dict({"weight": torch.ones(2, 2)})


def test_modules_get_new_parameters_on_request():
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        module = nn.Linear(2, 2)
        weight = module.weight
        module.double()
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)
    assert module.weight is not weight
    assert weight.dtype == torch.float32
    assert module.weight.dtype == torch.float64


def test_a_post_hook_of_the_public_kind_cannot_be_registered_as_the_other_kind():
    def hook(module, state, prefix, metadata):
        pass

    module = nn.Linear(2, 2)
    module.register_state_dict_post_hook(hook)
    with pytest.raises(RuntimeError, match="previously registered via register_state_dict_post_hook"):
        module._register_state_dict_hook(hook)
