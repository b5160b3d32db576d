"""Tensors without memory of their own in files: wrappers with what they wrap, fake tensors as the real ones."""

import copy
import io

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._subclasses.fake_tensor import FakeTensor, FakeTensorMode


class Pair(torch.Tensor):
    @staticmethod
    def __new__(cls, first, second):
        return torch.Tensor._make_wrapper_subclass(
            cls, first.size(), strides=first.stride(), dtype=first.dtype, device=first.device
        )

    def __init__(self, first, second):
        self.first, self.second = first, second

    def __tensor_flatten__(self):
        return ["first", "second"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Pair(inner["first"], inner["second"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def of(part):
            return [getattr(arg, part) if isinstance(arg, Pair) else arg for arg in args]

        return Pair(func(*of("first"), **(kwargs or {})), func(*of("second"), **(kwargs or {})))


def written(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("weights_only", [True, False])
def test_a_wrapper_is_saved_with_what_it_wraps(weights_only):
    file = written(Pair(torch.ones(2, 3), torch.zeros(2, 3)))
    with torch.serialization.safe_globals([Pair]):
        loaded = torch.load(file, weights_only=weights_only)
    assert type(loaded) is Pair and loaded.shape == (2, 3)
    assert loaded.first.sum() == 6 and loaded.second.sum() == 0


def test_the_class_of_a_wrapper_must_be_declared_safe():
    file = written(Pair(torch.ones(2), torch.ones(2)))
    (name,) = torch.serialization.get_unsafe_globals_in_checkpoint(file)
    assert name.endswith("Pair")
    file.seek(0)
    with pytest.raises(Exception, match="was not an allowed global"):
        torch.load(file)


def test_fake_tensors_are_saved_as_tensors_of_the_device_they_stand_for():
    with FakeTensorMode():
        whole = torch.randn(2, 3)
        described = {"whole": whole, "row": whole[1], "half": torch.ones(2, dtype=torch.float16)}
    file = io.BytesIO()
    with torch.serialization.skip_data(materialize_fake_tensors=True):
        torch.save(described, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["whole"].shape == (2, 3) and loaded["whole"].device.type == "cpu"
    assert loaded["row"].untyped_storage() is loaded["whole"].untyped_storage()
    assert loaded["half"].dtype is torch.float16


def test_a_wrapper_becomes_one_of_fake_tensors_and_is_saved_as_a_real_one():
    mode = FakeTensorMode()
    fake = mode.from_tensor(Pair(torch.ones(2), torch.zeros(2)))
    assert type(fake) is Pair and isinstance(fake.first, FakeTensor)
    file = io.BytesIO()
    with torch.serialization.skip_data(materialize_fake_tensors=True):
        torch.save(fake, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert type(loaded) is Pair and type(loaded.first) is torch.Tensor and loaded.second.shape == (2,)


def test_a_copy_of_a_meta_subclass_has_its_slots():
    class Holder(torch.Tensor):
        __slots__ = ["held"]

        @staticmethod
        def __new__(cls, held):
            made = torch.Tensor._make_subclass(cls, held.to("meta"))
            made.held = held
            return made

        def clone(self):
            return type(self)(self.held.clone())

    first = Holder(torch.ones(2))
    first.note = "kept"
    second = copy.deepcopy(first)
    assert type(second) is Holder and second.note == "kept"
    assert second.held is not first.held and torch.equal(second.held, first.held)
