"""torch.save and torch.load: what goes in comes out, on every device, through every kind of file."""

import copy
import io
import os
import pathlib
import pickle
import stat
import zipfile
from collections import OrderedDict

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._serialization.names import unpickler_class

DTYPES = (
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128 "
    "float8_e4m3fn float8_e5m2"
).split()
FORMATS = [{}, {"_use_new_zipfile_serialization": False}]


def through(value, load=None, **save):
    buffer = io.BytesIO()
    torch.save(value, buffer, **save)
    buffer.seek(0)
    return torch.load(buffer, **(load or {}))


@pytest.mark.parametrize("options", FORMATS, ids=["zip", "legacy"])
@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_survives_bit_for_bit(name, options):
    x = torch.arange(10).to(getattr(torch, name))
    y = through(x, **options)
    assert y.dtype is x.dtype and y.shape == x.shape
    assert y.untyped_storage().tobytes() == x.untyped_storage().tobytes()


@pytest.mark.parametrize("options", FORMATS, ids=["zip", "legacy"])
def test_views_stay_views_of_one_storage(options):
    x = torch.arange(12.0).reshape(3, 4)
    y = through({"all": x, "row": x[1], "transposed": x.t(), "again": x}, **options)
    assert y["again"] is y["all"]
    y["all"][1, 2] = 100.0
    assert y["row"].tolist() == [4.0, 5.0, 100.0, 7.0]
    assert y["transposed"].stride() == (1, 4) and y["transposed"][2, 1] == 100.0


def test_gradients_parameters_and_attributes_survive():
    parameter = torch.nn.Parameter(torch.ones(2))
    tagged = torch.nn.Parameter(torch.zeros(1), requires_grad=False)
    tagged.tag = "frozen"
    plain = torch.ones(1)
    plain.note = {"x": torch.zeros(2)}
    y = through(
        [torch.ones(2, requires_grad=True), parameter, tagged, plain, torch.ones(2, requires_grad=True) * 2]
    )
    assert y[0].requires_grad and y[0].is_leaf
    assert type(y[1]) is torch.nn.Parameter and y[1].requires_grad
    assert type(y[2]) is torch.nn.Parameter and not y[2].requires_grad and y[2].tag == "frozen"
    assert type(y[3]) is torch.Tensor and y[3].note["x"].tolist() == [0.0, 0.0]
    assert y[4].requires_grad


def test_plain_python_values_survive():
    values = [
        1, -1, 10**30, 2.5, "x", None, True, (1, 2), {1, 2}, b"ab", bytearray(b"c"), 3 + 4j, OrderedDict(a=1),
        torch.float16, torch.bool, torch.Size([1, 2]), torch.device("cpu"), torch.device("npu:0"), torch.strided,
    ]  # fmt: skip
    assert through(values) == values
    assert pickle.loads(pickle.dumps(values)) == values
    assert copy.deepcopy(values) == values


def test_meta_tensors_have_shape_and_no_data():
    x = torch.empty(1 << 40, device="meta", dtype=torch.float16)
    y = through(x)
    assert y.is_meta and y.shape == x.shape and y.dtype is x.dtype


@pytest.mark.parametrize("options", FORMATS, ids=["zip", "legacy"])
def test_an_npu_tensor_comes_back_to_the_npu_or_where_it_is_sent(options):
    x = torch.arange(6.0).reshape(2, 3).npu()
    buffer = io.BytesIO()
    torch.save({"x": x, "row": x[1]}, buffer, **options)
    for target, where in [
        (None, "npu"),
        ("cpu", "cpu"),
        (torch.device("cpu"), "cpu"),
        ({"npu:0": "cpu"}, "cpu"),
    ]:
        buffer.seek(0)
        y = torch.load(buffer, map_location=target)
        assert y["x"].device.type == where and y["row"].cpu().tolist() == [3.0, 4.0, 5.0]
    buffer.seek(0)
    seen = []
    y = torch.load(buffer, map_location=lambda storage, location: seen.append(location) or storage)
    assert seen == ["npu:0"] and y["x"].device.type == "cpu"


def test_map_location_moves_host_tensors_too():
    x = torch.arange(4.0)
    assert through(x, {"map_location": "npu:0"}).device == torch.device("npu:0")
    y = through(x, {"map_location": "meta"})
    assert y.is_meta and y.shape == (4,)
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        through(x, {"map_location": "moon"})
    with pytest.raises(RuntimeError, match=r"torch.cuda.is_available\(\) is False"):
        through(x, {"map_location": "cuda:0"})
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on NPU device 99"):
        through(x, {"map_location": "npu:99"})


def test_one_storage_cannot_be_saved_as_two_types():
    x = torch.ones(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        torch.save([x, x.view(torch.int32)], io.BytesIO())


# --- files


def test_paths_of_all_kinds_and_open_files_work(tmp_path):
    for target in (
        str(tmp_path / "a.pt"),
        tmp_path / "b.pt",
        pathlib.Path(tmp_path / "ü.pt"),
        tmp_path / "plain",
    ):
        torch.save(torch.ones(2), target)
        assert torch.load(target).tolist() == [1.0, 1.0]
    with open(tmp_path / "c.pt", "wb") as file:
        torch.save(torch.ones(3), file)
    with open(tmp_path / "c.pt", "rb") as file:
        assert torch.load(file).tolist() == [1.0] * 3
    names = {name.split("/")[0] for name in zipfile.ZipFile(tmp_path / "b.pt").namelist()}
    assert names == {"b"}


def test_several_objects_in_one_legacy_stream_are_read_one_by_one():
    buffer = io.BytesIO()
    for value in (1.0, 2.0):
        torch.save(torch.tensor([value]), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert [torch.load(buffer).item() for _ in range(2)] == [1.0, 2.0]


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.ones(2), path)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        torch.save([torch.zeros(2), lambda: None], path)
    assert torch.load(path).tolist() == [1.0, 1.0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.pt"]


def test_saving_keeps_the_mode_of_the_file_and_follows_links(tmp_path):
    path, link = tmp_path / "x.pt", tmp_path / "link.pt"
    torch.save(1, path)
    os.chmod(path, 0o640)
    link.symlink_to(path)
    torch.save(2, link)
    assert link.is_symlink() and torch.load(path) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    torch.save(3, "/dev/null")


def test_a_missing_folder_and_a_missing_file_are_named(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory .*nowhere does not exist"):
        torch.save(1, tmp_path / "nowhere" / "x.pt")
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "x.pt")
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object"):
        torch.save(1, 3)


class _Stream(io.RawIOBase):
    """Only what is asked of it: bytes out, or bytes in."""

    def __init__(self, data=b""):
        self.data = bytearray(data)

    def write(self, data):
        self.data += data
        return len(data)

    def writable(self):
        return True


def test_a_stream_that_cannot_seek_is_written_and_refused_for_reading():
    stream = _Stream()
    torch.save(torch.ones(2), stream)
    assert torch.load(io.BytesIO(stream.data)).tolist() == [1.0, 1.0]
    with pytest.raises(io.UnsupportedOperation, match="You can only torch.load from a file that is seekable"):
        torch.load(stream)


def test_storages_start_at_multiples_of_64_and_python_reads_the_archive(tmp_path):
    path = tmp_path / "x.pt"
    torch.save([torch.ones(3), torch.empty(0), torch.arange(100)], path)
    data = path.read_bytes()
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        assert file.read("x/version") == b"3\n" and file.read("x/byteorder") == b"little"
        for entry in file.infolist():
            name, extra = (int.from_bytes(data[entry.header_offset + at :][:2], "little") for at in (26, 28))
            assert (entry.header_offset + 30 + name + extra) % 64 == 0


def test_a_mapped_file_is_read_on_demand_and_private_unless_asked(tmp_path):
    import mmap

    path = tmp_path / "x.pt"
    torch.save({"a": torch.arange(1000.0), "b": torch.ones(3)}, path)
    y = torch.load(path, mmap=True)
    assert y["a"].tolist() == list(range(1000)) and y["a"].untyped_storage().data_ptr() % 64 == 0
    y["a"][0] = 5.0
    assert torch.load(path)["a"][0] == 0.0
    with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        assert torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
        torch.load(path, mmap=True)["a"][0] = 7.0
    assert torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    torch.serialization.set_crc32_options(True)
    assert torch.load(path)["a"][0] == 7.0  # although the checksum is that of the old data
    with pytest.raises(ValueError, match="f must be a file path"):
        torch.load(io.BytesIO(path.read_bytes()), mmap=True)
    torch.save(1, path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(path, mmap=True)


def tar_file():
    """What PyTorch wrote before 0.2: a tensor and a view of its second half."""
    import struct
    import tarfile

    def number(value):
        return pickle.dumps(value, 2)

    def named(key, other, kind):
        """(key, other, torch.<kind>), pickled."""
        return (
            b"\x80\x02"
            + b"".join(number(v)[2:-1] for v in (key, other))
            + f"ctorch\n{kind}\n".encode()
            + b"\x87."
        )

    values = struct.pack("<q4f", 4, 0.0, 1.0, 2.0, 3.0)
    members = {
        "sys_info": number({}),
        "pickle": b"\x80\x02}(X\x01\x00\x00\x00aK\x07QX\x01\x00\x00\x00bK\x08Qu.",
        "storages": number(1) + named(5, "cpu", "FloatStorage") + values + number([(6, 5, 2, 2)]),
        "tensors": number(2)
        + named(7, 5, "FloatTensor") + struct.pack("<i4x5q", 2, 2, 2, 2, 1, 0)
        + named(8, 6, "FloatTensor") + struct.pack("<i4x3q", 1, 2, 1, 0),
    }  # fmt: skip
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:", format=tarfile.PAX_FORMAT) as tar:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def test_the_oldest_files_are_read_when_trusted(tmp_path):
    path = tmp_path / "old.pt"
    path.write_bytes(tar_file())
    with pytest.raises(
        RuntimeError, match="Cannot use ``weights_only=True`` with files saved in the legacy .tar format"
    ):
        torch.load(path)
    loaded = torch.load(path, weights_only=False)
    assert loaded["a"].tolist() == [[0.0, 1.0], [2.0, 3.0]] and loaded["b"].tolist() == [2.0, 3.0]
    loaded["a"][1, 0] = 9.0
    assert loaded["b"][0] == 9.0
    path.write_bytes(tar_file()[:1500])
    with pytest.raises(RuntimeError, match="tar archive cannot be read"):
        torch.load(path, weights_only=False)


# --- options


def test_big_endian_files_are_turned():
    x = torch.tensor([1.0, 2.5])
    buffer = io.BytesIO()
    torch.save(x, buffer, _disable_byteorder_record=True)
    data = buffer.getvalue()
    order = torch.serialization.LoadEndianness
    try:
        for setting, expected in [(None, x), (order.LITTLE, x), (order.NATIVE, x), (order.BIG, None)]:
            torch.serialization.set_default_load_endianness(setting)
            y = torch.load(io.BytesIO(data))
            if expected is None:
                storage = y.untyped_storage()
                storage.byteswap(torch.float32)
            assert y.tolist() == x.tolist()
    finally:
        torch.serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError):
        torch.serialization.set_default_load_endianness("big")


def test_without_checksums_files_still_load():
    try:
        torch.serialization.set_crc32_options(False)
        assert not torch.serialization.get_crc32_options()
        assert through(torch.ones(2)).tolist() == [1.0, 1.0]
    finally:
        torch.serialization.set_crc32_options(True)


def test_skipped_data_leaves_room_for_it():
    x = torch.ones(100)
    full, hollow = io.BytesIO(), io.BytesIO()
    torch.save(x, full)
    with torch.serialization.skip_data():
        torch.save(x, hollow)
        hollow.seek(0)
        assert torch.load(hollow).shape == (100,)
    assert len(full.getvalue()) == len(hollow.getvalue())
    hollow.seek(0)
    assert torch.load(hollow).tolist() == [0.0] * 100


def test_an_archive_of_more_than_four_gigabytes_is_written_and_mapped(tmp_path):
    """Of which hardly any are on the disk: the data is skipped."""
    path = tmp_path / "big.pt"
    value = [torch.ones(7), torch.empty((1 << 30) + 5), torch.empty(0), torch.ones(3)]
    with torch.serialization.skip_data():
        torch.save(value, path)
    assert path.stat().st_size > 1 << 32 and path.stat().st_blocks * 512 < 1 << 24
    assert zipfile.ZipFile(path).getinfo("big/data/1").file_size == value[1].nbytes
    assert [x.shape for x in torch.load(path, mmap=True)] == [x.shape for x in value]


def test_a_file_that_takes_a_few_bytes_at_a_time_gets_all_of_them():
    class Slow(_Stream):
        def write(self, data):
            return super().write(bytes(data[:100]))

    stream = Slow()
    torch.save(torch.arange(100.0), stream)
    assert torch.load(io.BytesIO(stream.data)).tolist() == list(range(100))


def test_another_place_for_storages_can_be_registered():
    from mindtorch_v2._serialization import locations

    moved = []
    before = list(locations._packages)
    try:
        torch.serialization.register_package(
            5,
            lambda storage: "shelf",
            lambda storage, place: moved.append(place) or storage if place == "shelf" else None,
        )
        assert through(torch.ones(1)).item() == 1.0 and moved == ["shelf"]
    finally:
        locations._packages[:] = before


# --- weights only


class Settings:
    def __init__(self, rate):
        self.rate = rate


class Tagged(torch.Tensor):
    pass


def test_other_classes_need_a_declaration_or_trust():
    value = {"settings": Settings(0.1), "x": torch.ones(2)}
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals\(\[.*Settings\]\)"):
        through(value)
    assert through(value, {"weights_only": False})["settings"].rate == 0.1
    with torch.serialization.safe_globals([Settings]):
        assert through(value)["settings"].rate == 0.1
    torch.serialization.add_safe_globals([Settings])
    assert torch.serialization.get_safe_globals() == [Settings]
    assert through(value)["settings"].rate == 0.1
    torch.serialization.clear_safe_globals()
    assert torch.serialization.get_safe_globals() == []
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        through(1, {"weights_only": True, "pickle_module": pickle})


def test_unsafe_names_in_a_file_are_listed_without_loading_it(tmp_path):
    torch.save([Settings(1), torch.ones(1)], tmp_path / "x.pt")
    names = torch.serialization.get_unsafe_globals_in_checkpoint(tmp_path / "x.pt")
    assert names == [f"{__name__}.Settings"]


def test_a_subclass_keeps_its_type_and_attributes():
    x = torch.ones(2).as_subclass(Tagged)
    x.tag = "a"
    y = through(x, {"weights_only": False})
    assert type(y) is Tagged and y.tag == "a"
    with torch.serialization.safe_globals([Tagged]):
        assert type(through(x)) is Tagged
    assert type(copy.deepcopy(x)) is Tagged and pickle.loads(pickle.dumps(x)).tag == "a"


def test_a_name_we_do_not_have_is_told():
    for name in (b"torch.export\nExportedProgram", b"torch\nno_such_function"):
        with pytest.raises(AttributeError, match="mindtorch_v2 does not have; if the object matters"):
            unpickler_class(pickle)(io.BytesIO(b"\x80\x02c" + name + b"\n.")).load()


def test_environment_variables_force_one_way(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(pickle.UnpicklingError):
        through(Settings(1), {"weights_only": False})
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="but both were set"):
        through(1)
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert through(Settings(1)).rate == 1


def test_whole_modules_and_optimizer_states_survive():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    loaded = through(model, {"weights_only": False})
    assert loaded[0].weight.tolist() == model[0].weight.tolist()
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = through({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    assert (
        state["optimizer"]["state"][0]["exp_avg"].tolist()
        == optimizer.state_dict()["state"][0]["exp_avg"].tolist()
    )
    other = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    other.load_state_dict(state["model"])
    assert other[0].bias.tolist() == model[0].bias.tolist()


# --- pickle and others


def test_pickle_and_deepcopy_agree_with_save():
    x = torch.arange(6.0).reshape(2, 3)
    generator = torch.Generator()
    generator.manual_seed(3)
    torch.rand(5, generator=generator)
    value = {
        "x": x,
        "row": x[1],
        "p": torch.nn.Parameter(x.clone()),
        "storage": x.storage(),
        "rng": generator,
    }
    for copied in (
        pickle.loads(pickle.dumps(value)),
        copy.deepcopy(value),
        through(value, {"weights_only": False}),
    ):
        copied["x"][1, 0] = 50.0
        assert copied["row"].tolist() == [50.0, 4.0, 5.0] and x[1, 0] == 3.0
        assert copied["storage"][3] == 50.0
        assert type(copied["p"]) is torch.nn.Parameter
        expected = torch.rand(3, generator=generator.clone_state()).tolist()
        assert torch.rand(3, generator=copied["rng"]).tolist() == expected


def test_the_calls_of_safetensors_work(tmp_path):
    """The sequence that the library makes when it loads and saves, recorded."""
    import ctypes

    path = tmp_path / "x.bin"
    path.write_bytes(b"header00" + torch.arange(6.0).untyped_storage().tobytes())
    size = path.stat().st_size
    storage = torch.UntypedStorage.from_file(str(path), shared=False, nbytes=size).untyped()
    for device in ("cpu", "npu:0"):
        taken = torch.asarray(storage[8:size:1], dtype=torch.uint8, device=device)
        made = taken.view(dtype=torch.float32).reshape([2, 3])
        assert made.device.type == device[:3] and made.cpu().tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
        assert made[slice(0, 1), slice(1, 3)].to("npu:0").cpu().tolist() == [[1.0, 2.0]]
    x = torch.arange(3, dtype=torch.float16)
    assert isinstance(x, torch.Tensor) and x.layout == torch.strided and x.is_contiguous()
    assert x.untyped_storage().nbytes() == 6 and x.untyped_storage().data_ptr() == x.data_ptr()
    assert x.to("cpu").device.type == "cpu" and str(x.dtype).split(".")[-1] == "float16"
    assert ctypes.string_at(x.data_ptr(), 6) == x.untyped_storage().tobytes()


def safetensors(tensors, **change):
    """A file of that format; ``change`` replaces entries of the header."""
    import json
    import struct

    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (kind, shape, content) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    header.update(change)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def test_a_safetensors_file_is_loaded_by_its_name(tmp_path):
    path = tmp_path / "x.safetensors"
    x, y = torch.arange(6.0).reshape(2, 3), torch.arange(3).to(torch.bfloat16)
    content = {
        "x": ("F32", [2, 3], x.untyped_storage().tobytes()),
        "y": ("BF16", [3], y.untyped_storage().tobytes()),
        "none": ("I64", [0, 2], b""),
    }
    path.write_bytes(safetensors(content))
    for device in ("cpu", torch.device("npu:0")):
        loaded = torch.load(path, map_location=device)
        assert loaded["x"].tolist() == x.tolist() and loaded["y"].dtype is torch.bfloat16
        assert loaded["none"].shape == (0, 2) and loaded["x"].device.type == torch.device(device).type
    with pytest.raises(RuntimeError, match="dict map_location is not supported"):
        torch.load(path, map_location={})
    whole = path.read_bytes()
    for damaged in (
        b"", whole[:4], whole[:40], whole[:-1], b"\xff" * 8 + whole[8:], b"\x08" + bytes(7) + b"not json",
        safetensors(content, z={"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}),
        safetensors(content, z={"dtype": "F32", "shape": [-1], "data_offsets": [4, 0]}),
        safetensors(content, z={"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}),
        safetensors(content, z={"dtype": "F31", "shape": [1], "data_offsets": [0, 4]}),
        safetensors(content, z=3),
    ):  # fmt: skip
        path.write_bytes(damaged)
        with pytest.raises(RuntimeError, match="is not a complete safetensors file"):
            torch.load(path)
