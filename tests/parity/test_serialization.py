"""Files of each library opened in the other, and the same bytes from both."""

import copy
import io
import pickle
import zipfile
from collections import OrderedDict

import numpy as np
import pytest
import torch

import mindtorch_v2

DTYPES = (
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128 "
    "float8_e4m3fn float8_e5m2"
).split()
NOT_IN_LEGACY = ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2")
FORMATS = [{}, {"_use_new_zipfile_serialization": False}]


def checkpoint(library, dtypes=DTYPES):
    """The same content in either library."""
    numbers = library.arange(12).reshape(3, 4)
    value = OrderedDict((name, numbers.to(getattr(library, name))) for name in dtypes)
    x = library.arange(6.0).reshape(2, 3)
    value.update(
        base=x,
        row=x[1],
        transposed=x.t(),
        strided=x[:, ::2],
        empty=library.empty(0),
        scalar=library.tensor(3.5),
    )
    value["leaf"] = library.ones(2, requires_grad=True)
    value["parameter"] = library.nn.Parameter(library.ones(2, 2))
    value["frozen"] = library.nn.Parameter(library.zeros(1), requires_grad=False)
    tagged = library.nn.Parameter(library.ones(1))
    tagged.tag = "a"
    value["tagged"] = tagged
    value["buffer"] = library.nn.Buffer(library.ones(1), persistent=False)
    value["meta"] = library.empty(2, 3, device="meta")
    with_attribute = library.ones(2)
    with_attribute.note = {"a": library.zeros(1)}
    value["attribute"] = with_attribute
    value["plain"] = [
        library.float16, library.Size([1, 2]), library.device("cpu"), library.strided, 1, -70000, 2.5, "x", None, True,
        (1, 2), (1, 2, 3, 4), {1, 2}, b"ab", bytearray(b"c"), 3 + 4j, 10**30, [], {}, {"a": 1, "b": [x, x]},
    ]  # fmt: skip
    return value


def saved(library, value, **options):
    buffer = io.BytesIO()
    library.save(value, buffer, **options)
    return buffer.getvalue()


def same(ours, theirs):
    """Whether values of the two libraries agree, bit for bit."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, mindtorch_v2.Tensor)
        assert str(ours.dtype) == str(theirs.dtype) and tuple(ours.shape) == tuple(theirs.shape)
        assert ours.stride() == theirs.stride() and ours.storage_offset() == theirs.storage_offset()
        assert ours.requires_grad == theirs.requires_grad and str(ours.device) == str(theirs.device)
        assert isinstance(ours, mindtorch_v2.nn.Parameter) == isinstance(theirs, torch.nn.Parameter)
        if not theirs.is_meta:
            assert ours.untyped_storage().tobytes() == bytes(theirs.untyped_storage().tolist())
        for name in ("tag", "note"):
            same(getattr(ours, name, None), getattr(theirs, name, None))
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs) and type(ours) is type(theirs)
        for key in theirs:
            same(ours[key], theirs[key])
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    elif type(theirs).__module__.startswith("torch"):
        assert str(ours) == str(theirs)
    else:
        assert ours == theirs


def test_both_write_the_same_bytes():
    ours, theirs = saved(mindtorch_v2, checkpoint(mindtorch_v2)), saved(torch, checkpoint(torch))
    with zipfile.ZipFile(io.BytesIO(ours)) as a, zipfile.ZipFile(io.BytesIO(theirs)) as b:
        assert a.namelist() == b.namelist()
        for name in a.namelist()[:-1]:
            assert a.read(name) == b.read(name), name
        last = "archive/.data/serialization_id"  # only this one, a hash of names, differs
        assert len(a.read(last)) == len(b.read(last)) == 40
        ours = ours.replace(a.read(last), b"").replace(a.getinfo(last).CRC.to_bytes(4, "little"), b"")
        theirs = theirs.replace(b.read(last), b"").replace(b.getinfo(last).CRC.to_bytes(4, "little"), b"")
    assert ours == theirs


@pytest.mark.parametrize("options", FORMATS, ids=["zip", "legacy"])
@pytest.mark.parametrize("weights_only", [True, False])
def test_each_opens_the_files_of_the_other(options, weights_only):
    dtypes = [name for name in DTYPES if not options or name not in NOT_IN_LEGACY]
    for writer, reader in [(torch, mindtorch_v2), (mindtorch_v2, torch)]:
        data = saved(writer, checkpoint(writer, dtypes), **options)
        read = reader.load(io.BytesIO(data), weights_only=weights_only)
        own = writer.load(io.BytesIO(data), weights_only=weights_only)
        pair = (read, own) if reader is mindtorch_v2 else (own, read)
        same(*pair)
        assert read["row"].data_ptr() == read["base"].data_ptr() + 12


def test_state_dicts_of_models_and_optimizers_cross_over(tmp_path):
    for writer, reader in [(torch, mindtorch_v2), (mindtorch_v2, torch)]:
        models = [
            library.nn.Sequential(library.nn.Linear(4, 3), library.nn.ReLU(), library.nn.Linear(3, 2))
            for library in (writer, reader)
        ]
        optimizers = [
            library.optim.AdamW(model.parameters(), lr=0.1)
            for library, model in zip((writer, reader), models, strict=True)
        ]
        models[0](writer.ones(1, 4)).sum().backward()
        optimizers[0].step()
        writer.save({"m": models[0].state_dict(), "o": optimizers[0].state_dict()}, tmp_path / "x.pt")
        for options in ({}, {"mmap": True}, {"map_location": "cpu"}):
            state = reader.load(tmp_path / "x.pt", **options)
            models[1].load_state_dict(state["m"])
            optimizers[1].load_state_dict(state["o"])
            assert models[1][0].weight.tolist() == models[0][0].weight.tolist()
            states = [o.state_dict()["state"][0]["exp_avg"].tolist() for o in optimizers]
            assert states[0] == states[1]


def test_whole_modules_cross_over():
    for writer, reader in [(torch, mindtorch_v2), (mindtorch_v2, torch)]:
        model = writer.nn.Sequential(writer.nn.Linear(4, 3), writer.nn.ReLU())
        loaded = reader.load(io.BytesIO(saved(writer, model)), weights_only=False)
        assert type(loaded[0]) is reader.nn.Linear and type(loaded[1]) is reader.nn.ReLU
        assert loaded[0].weight.tolist() == model[0].weight.tolist()


@pytest.mark.filterwarnings("ignore:Seems like `optimizer.step")
def test_recurrent_layers_and_schedules_cross_over():
    for writer, reader in [(torch, mindtorch_v2), (mindtorch_v2, torch)]:
        layer = writer.nn.LSTM(3, 4, 2, bidirectional=True)
        schedule = writer.optim.lr_scheduler.StepLR(writer.optim.SGD(layer.parameters(), lr=0.1), 2)
        found, later = reader.load(io.BytesIO(saved(writer, (layer, schedule))), weights_only=False)
        x = np.ones((5, 2, 3), "float32")
        wanted = layer(writer.from_numpy(x))[0].detach().numpy()
        np.testing.assert_allclose(
            found(reader.from_numpy(x))[0].detach().numpy(), wanted, rtol=1e-5, atol=1e-6
        )
        assert list(found.state_dict()) == list(layer.state_dict())
        later.optimizer.step()
        later.step()
        assert later.get_last_lr() == [0.1]


def test_classes_have_the_names_that_files_know_them_by():
    wrong = []
    for package in ("nn", "optim"):
        ours, theirs = getattr(mindtorch_v2, package), getattr(torch, package)
        for name, value in vars(theirs).items():
            own = getattr(ours, name, None)
            if (
                isinstance(value, type)
                and isinstance(own, type)
                and issubclass(value, (torch.nn.Module, torch.optim.Optimizer))
            ):
                if own.__module__.removeprefix("mindtorch_v2") != value.__module__.removeprefix("torch"):
                    wrong.append((name, own.__module__, value.__module__))
    assert not wrong


def test_a_generator_goes_on_where_it_was():
    for writer, reader in [(torch, mindtorch_v2), (mindtorch_v2, torch)]:
        generator = writer.Generator().manual_seed(7)
        writer.rand(10, generator=generator)
        loaded = reader.load(io.BytesIO(saved(writer, generator)), weights_only=False)
        assert loaded.initial_seed() == 7
        assert reader.rand(5, generator=loaded).tolist() == writer.rand(5, generator=generator).tolist()


def test_conjugated_and_negated_tensors_arrive_as_values():
    z = torch.tensor([1 + 2j, 3 - 4j])
    for value in (z.conj(), z.conj().imag):
        assert mindtorch_v2.load(io.BytesIO(saved(torch, value))).tolist() == value.tolist()


class Settings:
    def __init__(self):
        self.rate = 0.1


@pytest.mark.parametrize("value", [Settings(), print, {"a": Settings}], ids=["object", "function", "class"])
def test_what_weights_only_refuses_is_refused_in_the_same_words(value):
    data = saved(torch, value)
    messages = []
    for library in (torch, mindtorch_v2):
        with pytest.raises(pickle.UnpicklingError) as caught:
            library.load(io.BytesIO(data))
        messages.append(str(caught.value))
        names = library.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
        messages.append(sorted(names))
    assert messages[:2] == messages[2:]


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8), "quantized tensors; save"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_kinds_of_tensors_we_do_not_have_are_named(make, advice):
    with pytest.raises(NotImplementedError, match=advice):
        mindtorch_v2.load(io.BytesIO(saved(torch, make())))


def test_refusals_of_arguments_are_the_same(tmp_path):
    data = saved(torch, torch.ones(2))
    calls = [
        lambda library: library.load(io.BytesIO(data), map_location="cuda:0"),
        lambda library: library.load(io.BytesIO(data), weights_only=True, pickle_module=pickle),
        lambda library: library.load(io.BytesIO(data), mmap=True),
        lambda library: library.load(tmp_path / "missing.pt"),
        lambda library: library.save(1, tmp_path / "missing" / "x.pt"),
        lambda library: library.save(1, 3),
        lambda library: library.serialization.set_default_load_endianness(1),
        lambda library: library.serialization.set_default_mmap_options(77),
        lambda library: library.load(
            io.BytesIO(saved(torch, 1, _use_new_zipfile_serialization=False)), mmap=True
        ),
    ]
    for call in calls:
        found = []
        for library in (torch, mindtorch_v2):
            with pytest.raises(Exception) as caught:
                call(library)
            found.append((type(caught.value), str(caught.value)))
        assert found[0] == found[1]


def test_pickles_of_tensors_have_the_same_form():
    for make in (
        lambda library: library.ones(2, 3)[0],
        lambda library: library.nn.Parameter(library.ones(2)),
        lambda library: library.ones(2, dtype=library.uint16),
        lambda library: library.ones(2, device="meta"),
    ):
        ours, theirs = (make(library).__reduce_ex__(2) for library in (mindtorch_v2, torch))
        assert ours[0].__name__ == theirs[0].__name__ and len(ours[1]) == len(theirs[1])
    x = mindtorch_v2.arange(3.0)
    assert copy.deepcopy(x).tolist() == pickle.loads(pickle.dumps(x)).tolist()
