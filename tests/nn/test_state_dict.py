"""state_dict and load_state_dict: PyTorch's keys, messages and hooks."""

from collections import OrderedDict

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


def network():
    return nn.Sequential(OrderedDict(body=nn.Linear(2, 3), head=nn.Linear(3, 1)))


def test_keys_are_dotted_paths_in_order_and_carry_versions():
    state = network().state_dict()
    assert list(state) == ["body.weight", "body.bias", "head.weight", "head.bias"]
    assert dict(state._metadata) == {"": {"version": 1}, "body": {"version": 1}, "head": {"version": 1}}


def test_the_state_shares_memory_but_is_detached():
    net = network()
    state = net.state_dict()
    assert not state["body.weight"].requires_grad
    state["body.weight"].fill_(5.0)
    assert net.body.weight[0, 0].item() == 5.0
    assert net.state_dict(keep_vars=True)["body.weight"] is net.body.weight


def test_loading_copies_the_values():
    source, target = network(), network()
    assert repr(target.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    assert target.head.weight.tolist() == source.head.weight.tolist()
    with torch.no_grad():
        source.head.weight.fill_(9.0)
    assert target.head.weight.tolist() != source.head.weight.tolist()


def test_all_problems_are_reported_together():
    state = network().state_dict()
    del state["body.bias"]
    state["head.weight"] = torch.zeros(2, 3)
    state["head.extra"] = torch.zeros(1)
    state["tail.weight"] = torch.zeros(1)
    with pytest.raises(RuntimeError) as caught:
        network().load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "body.bias". \n'
        '\tUnexpected key(s) in state_dict: "tail.weight", "head.extra". \n'
        "\tsize mismatch for head.weight: copying a param with shape torch.Size([2, 3]) from checkpoint, "
        "the shape in current model is torch.Size([1, 3])."
    )


def test_without_strict_only_the_names_are_returned():
    state = network().state_dict()
    del state["body.bias"]
    state["other"] = torch.zeros(1)
    result = network().load_state_dict(state, strict=False)
    assert result.missing_keys == ["body.bias"] and result.unexpected_keys == ["other"]


def test_an_entry_that_is_no_tensor_is_an_error():
    with pytest.raises(RuntimeError, match="expected torch.Tensor or Tensor-like object from checkpoint"):
        network().load_state_dict({**network().state_dict(), "body.bias": [1.0]})
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'int'>"):
        network().load_state_dict(3)


def test_assign_takes_the_tensors_and_keeps_requires_grad():
    with_values, empty = network(), network().to("meta").requires_grad_(False)
    empty.load_state_dict(with_values.state_dict(), assign=True)
    assert isinstance(empty.body.weight, nn.Parameter) and not empty.body.weight.requires_grad
    assert empty.body.weight.tolist() == with_values.body.weight.tolist()


def test_copying_into_meta_warns_that_nothing_happens():
    with pytest.warns(UserWarning, match="which is a no-op"):
        network().to("meta").load_state_dict(network().state_dict())


def test_extra_state_travels_with_the_tensors():
    class Counting(nn.Module):
        count = 3

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    source, target = Counting(), Counting()
    source.count = 8
    state = source.state_dict()
    assert dict(state) == {"_extra_state": {"count": 8}}
    target.load_state_dict(state)
    assert target.count == 8
    with pytest.raises(RuntimeError, match='Missing key.*"_extra_state"'):
        target.load_state_dict({})
    with pytest.raises(RuntimeError, match='Unexpected key.*"_extra_state"'):
        nn.ReLU().load_state_dict(state)


def test_hooks_see_the_state_on_its_way_out_and_in():
    net, seen = network(), []
    net.register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append(("saving", prefix)))
    net.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.pop("head.bias") and None)
    state = net.state_dict()
    assert seen == [("saving", "")] and "head.bias" not in state

    def give_back(module, state, prefix, metadata, strict, missing, unexpected, errors):
        state.setdefault(prefix + "head.bias", torch.zeros(1))

    net.register_load_state_dict_pre_hook(give_back)
    net.register_load_state_dict_post_hook(lambda module, keys: seen.append(tuple(keys)))
    net.load_state_dict(state)
    assert seen[-1] == ([], []) and net.head.bias.item() == 0.0


def test_a_post_hook_that_returns_something_is_an_error():
    net = network()
    net.register_state_dict_post_hook(lambda *args: 1)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        net.state_dict()


def test_assigning_once_leaves_no_mark_on_the_state():
    state = network().state_dict()
    network().to("meta").load_state_dict(state, assign=True)
    target = network()
    weight = target.body.weight
    target.load_state_dict(state)
    assert target.body.weight is weight


class CountedKey(str):
    """A key that counts how often it is looked at."""

    looks = 0

    def startswith(self, *args):
        CountedKey.looks += 1
        return super().startswith(*args)

    def __getitem__(self, index):
        CountedKey.looks += 1
        return super().__getitem__(index)


def test_loading_twice_as_many_layers_looks_at_keys_twice_as_often():
    def looks(layers):
        net = nn.Sequential(*(nn.Linear(1, 1) for _ in range(layers)))
        state = {CountedKey(key): value for key, value in net.state_dict().items()}
        CountedKey.looks = 0
        net.load_state_dict(state)
        return CountedKey.looks

    assert 0 < looks(80) <= 2 * looks(40)
