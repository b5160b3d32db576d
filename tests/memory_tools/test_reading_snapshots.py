"""Snapshots of three makers are read into one model; what is no snapshot is refused, and nothing of a file is run."""

import json
import os
import pickle
import struct
import tracemalloc

import pytest

from mindtorch_v2 import memory_tools

FRAME = {"filename": "/home/user/train.py", "line": 7, "name": "main"}


def segment(blocks, **more):
    size = sum(block["size"] for block in blocks)
    return {
        "device": 0,
        "address": 1 << 32,
        "total_size": size,
        "stream": 0,
        "segment_type": "large",
        "blocks": blocks,
    } | more


def block(size, state="active_allocated", **more):
    return {"size": size, "requested_size": size - 12, "state": state, "frames": [FRAME]} | more


def torch_npu_snapshot():
    """No times, no settings, no frames for releases, an action that nobody else has."""
    return {
        "segments": [segment([block(4096), block(16384, "inactive")])],
        "device_traces": [
            [
                {
                    "action": "segment_alloc",
                    "addr": 1 << 32,
                    "size": 20480,
                    "stream": 0,
                    "pool_id": (0, 0),
                    "frames": [],
                },
                {
                    "action": "alloc",
                    "addr": 1 << 32,
                    "size": 4084,
                    "stream": 0,
                    "pool_id": (0, 0),
                    "frames": [FRAME],
                },
                {"action": "workspace_snapshot", "addr": 0, "size": 77, "stream": 0, "frames": []},
            ]
        ],
    }


def written(tmp_path, data, name="a.pickle", protocol=4):
    path = tmp_path / name
    path.write_bytes(pickle.dumps(data, protocol=protocol))
    return path


def test_what_this_package_wrote_is_read_with_its_stacks(recorded):
    snapshot = memory_tools.read(recorded("cnn"))
    assert snapshot.maker == "mindtorch_v2" and snapshot.has_times
    device = snapshot.device()
    assert len(device.history) > 100
    places = {memory_tools.place_of(snapshot.stacks[number]) for number in device.history.stack.tolist()}
    assert any("conftest.py" in place and "in step" in place for place in places), places


@pytest.mark.parametrize("name", ["gpt", "cnn", "gen"])
def test_what_pytorch_wrote_on_a_gpu_is_read(pytorch_snapshot, name):
    snapshot = memory_tools.read(pytorch_snapshot(name))
    assert snapshot.maker == "PyTorch"
    places = {memory_tools.place_of(stack) for stack in snapshot.stacks}
    assert any(place.startswith("/home/user/train.py:") for place in places)


def test_what_torch_npu_writes_is_read_although_it_says_less(tmp_path):
    snapshot = memory_tools.read(written(tmp_path, torch_npu_snapshot()))
    assert (snapshot.maker, snapshot.has_times) == ("torch_npu", False)
    history = snapshot.device().history
    assert history.time.tolist() == [0, 1] and history.size.tolist() == [20480, 4084]
    assert memory_tools.place_of(snapshot.stacks[int(history.stack[1])]) == "/home/user/train.py:7 in main"


def test_json_and_the_list_of_segments_alone_are_read_too(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(torch_npu_snapshot()))
    assert memory_tools.read(path).device().allocated == 4096
    alone = memory_tools.read(written(tmp_path, torch_npu_snapshot()["segments"], "b.pickle"))
    assert alone.device().reserved == 20480 and len(alone.device().history) == 0


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_all_protocols_since_the_second_are_read(tmp_path, protocol):
    assert (
        memory_tools.read(written(tmp_path, torch_npu_snapshot(), protocol=protocol)).device().allocated
        == 4096
    )


class Hostile:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_file_that_wants_something_called_is_refused_and_nothing_is_called(tmp_path, protocol):
    mark = tmp_path / "was_here"
    data = torch_npu_snapshot() | {"allocator_settings": {"x": Hostile(mark)}}
    with pytest.raises(memory_tools.SnapshotError, match="not run|does not begin"):
        memory_tools.read(written(tmp_path, data, protocol=protocol))
    assert not mark.exists()


PLAIN = pickle.dumps(torch_npu_snapshot(), protocol=4)


@pytest.mark.parametrize("length", sorted({0, 1, 2, 3, 11, 50, *range(60, len(PLAIN), 37), len(PLAIN) - 1}))
def test_every_truncated_file_is_refused(tmp_path, length):
    path = tmp_path / "cut.pickle"
    path.write_bytes(PLAIN[:length])
    with pytest.raises(memory_tools.SnapshotError):
        memory_tools.read(path)


# Each would take gigabytes, crash or run for ever in a reader that believes it.
HOSTILE = {
    "a memo of four billion places": b"\x80\x04]r\xff\xff\xff\xff.",
    "a text longer than the file": b"\x80\x04\x8d" + struct.pack("<Q", 1 << 60) + b"x.",
    "a number of two billion digits": b"\x80\x02\x8b" + struct.pack("<i", (1 << 31) - 1) + b"1.",
    "a value that is not there": b"\x80\x04a.",
    "a mark that nobody set": b"\x80\x04]t.",
    "a memo that nobody wrote": b"\x80\x04h\x05.",
    "values below a mark": b"\x80\x04]](a.",
    "something after the end": b"\x80\x04].].",
    "a global": b"\x80\x04cos\nsystem\n.",
    "a stack global": b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
    "an extension": b"\x80\x02\x82\x01.",
    "a persistent id": b"\x80\x02Pabc\n.",
    "an object being built": b"\x80\x04}}b.",
    "an unknown protocol": b"\x80\x63].",
    "not a pickle at all": b"\x7fELF" + bytes(60),
    "deep json": b"[" * 100_000 + b"]" * 100_000,
    "half a json": b'{"segments": [',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_get_an_error_and_no_memory(tmp_path, name):
    path = tmp_path / "hostile"
    path.write_bytes(HOSTILE[name])
    tracemalloc.start()
    try:
        with pytest.raises(memory_tools.SnapshotError, match="hostile"):
            memory_tools.read(path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_file_that_would_grow_beyond_the_limit_is_refused_before_it_is_opened(tmp_path):
    path = tmp_path / "huge.pickle"
    path.write_bytes(b"\x80\x04(" + b"}" * 5_000_000 + b"l.")
    with pytest.raises(memory_tools.SnapshotError, match="would take more than"):
        memory_tools.read(path, memory_limit=1 << 28)
    with pytest.raises(memory_tools.SnapshotError, match="more than the limit"):
        memory_tools.read(path, memory_limit=1 << 20)


BROKEN = {
    "no segments": ({"device_traces": []}, "no 'segments'"),
    "a number": (3, "should be a dict"),
    "segments of another type": ({"segments": {}}, "'segments' should be a list"),
    "a segment without blocks": ({"segments": [{"address": 0, "total_size": 4}]}, "'blocks' of"),
    "blocks that do not fill it": ({"segments": [segment([block(512)], total_size=1024)]}, "1024 bytes, but"),
    "a state that there is not": ({"segments": [segment([block(512, "lost")])]}, "'state' is 'lost'"),
    "a negative size": ({"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": -4}]]},
                        "'size' should be a whole number"),
    "an unknown action": ({"segments": [], "device_traces": [[{"action": "jump", "addr": 1, "size": 4}]]},
                          "no action 'jump'"),
    "no address": ({"segments": [], "device_traces": [[{"action": "alloc", "size": 4}]]}, "no 'addr'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_in_a_snapshot_is_named_with_its_place(tmp_path, name):
    data, message = BROKEN[name]
    with pytest.raises(memory_tools.SnapshotError, match=message):
        memory_tools.read(written(tmp_path, data))
