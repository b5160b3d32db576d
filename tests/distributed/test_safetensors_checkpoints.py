"""Checkpoints as safetensors files: what is written, what is read, and what is refused."""

import json
from pathlib import Path

import pytest
import worlds

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
import mindtorch_v2.distributed.checkpoint as dcp

pytestmark = pytest.mark.filterwarnings("ignore")
STATE = {
    "a": torch.arange(6.0).view(2, 3),
    "b": {"c": torch.ones(3, dtype=torch.bfloat16), "flags": torch.tensor([True, False, True])},
    "step": torch.tensor(7),
    "none": torch.zeros(0, 4),
}


def empty():
    return {
        "a": torch.zeros(2, 3),
        "b": {"c": torch.zeros(3, dtype=torch.bfloat16), "flags": torch.zeros(3, dtype=torch.bool)},
        "step": torch.tensor(0),
        "none": torch.zeros(0, 4),
    }


def head(path):
    data = Path(path).read_bytes()
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])


def written(path, text):
    body = text if isinstance(text, bytes) else json.dumps(text).encode()
    path.write_bytes(len(body).to_bytes(8, "little") + body + bytes(16))


def test_tensors_go_to_the_files_that_are_named_and_come_back(tmp_path):
    files = {"a": 1, "b.c": 2, "b.flags": 2, "step": 2, "none": 1}
    dcp.save(STATE, storage_writer=dcp.HuggingFaceStorageWriter(str(tmp_path), files))
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["weight_map"] == {name: f"model-0000{at}-of-00002.safetensors" for name, at in files.items()}
    assert index["metadata"] == {"total_size": 24 + 6 + 3 + 8}
    said = head(tmp_path / "model-00001-of-00002.safetensors")
    assert said["a"] == {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    state = empty()
    dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(str(tmp_path)))
    torch.testing.assert_close(state, STATE, rtol=0, atol=0)


def test_a_checkpoint_over_another_leaves_none_of_its_files(tmp_path):
    for count in (2, 1):
        files = {"a": count, "b.c": 1, "b.flags": 1, "step": 1, "none": 1}
        dcp.save(STATE, storage_writer=dcp.HuggingFaceStorageWriter(str(tmp_path), files))
    assert [each.name for each in tmp_path.glob("*.safetensors")] == ["model-00001-of-00001.safetensors"]


def test_values_that_are_not_aligned_are_read(tmp_path):
    body = json.dumps({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    body += b" " * (3 - len(body) % 4)
    values = torch.tensor([1.5, -2.0]).view(torch.uint8).numpy().tobytes()
    (tmp_path / "model.safetensors").write_bytes(len(body).to_bytes(8, "little") + body + values)
    state = {"x": torch.zeros(2)}
    dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(str(tmp_path)))
    assert state["x"].tolist() == [1.5, -2.0]


@pytest.mark.parametrize(
    "text",
    [
        b"\xff" * 20,
        {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},
        {"x": {"dtype": "F32", "shape": [200], "data_offsets": [0, 800]}},
        {"x": {"dtype": "F32", "shape": [-2], "data_offsets": [8, 0]}},
        {"x": {"dtype": "F7", "shape": [2], "data_offsets": [0, 8]}},
        {"x": 3},
        [],
    ],
    ids=["no JSON", "too short", "beyond the end", "negative", "unknown dtype", "no entry", "no object"],
)
def test_a_damaged_list_is_refused_with_its_file(tmp_path, text):
    written(tmp_path / "model.safetensors", text)
    with pytest.raises(RuntimeError, match="model.safetensors"):
        dcp.HuggingFaceStorageReader(str(tmp_path)).read_metadata()


def test_what_is_no_tensor_and_a_folder_without_files_are_refused(tmp_path):
    with pytest.raises(dcp.CheckpointException, match="step is no tensor"):
        dcp.save({"step": 3}, storage_writer=dcp.HuggingFaceStorageWriter(str(tmp_path)))
    with pytest.raises(FileNotFoundError, match="no safetensors files"):
        dcp.HuggingFaceStorageReader(str(tmp_path / "other")).read_metadata()
    with pytest.raises(ValueError, match="save_distributed=True"):
        dcp.HuggingFaceStorageWriter(str(tmp_path), enable_consolidation=True)


@pytest.mark.skipif(not dist.is_gloo_available(), reason="the extra 'distributed' is not installed")
@pytest.mark.parametrize("consolidated", [False, True])
def test_parts_of_three_processes_are_loaded_by_two_and_by_one(tmp_path, consolidated):
    worlds.check(
        f"""
        import warnings
        warnings.simplefilter("ignore")
        import mindtorch_v2.distributed.checkpoint as dcp
        from mindtorch_v2.distributed.device_mesh import init_device_mesh
        from mindtorch_v2.distributed.tensor import Replicate, Shard, distribute_tensor
        mesh = init_device_mesh("cpu", (size,))
        state = {{
            "rows": distribute_tensor(torch.arange(35.0).view(7, 5), mesh, [Shard(0)]),
            "columns": distribute_tensor(torch.arange(35.0).view(7, 5), mesh, [Shard(1)]),
            "all": distribute_tensor(torch.arange(4), mesh, [Replicate()]),
        }}
        writer = dcp.HuggingFaceStorageWriter(
            "{tmp_path}", save_distributed=True, enable_consolidation={consolidated}
        )
        dcp.save(state, storage_writer=writer)
        """,
        3,
    )
    expected = torch.arange(35.0).view(7, 5)
    state = {
        "rows": torch.zeros(7, 5),
        "columns": torch.zeros(7, 5),
        "all": torch.zeros(4, dtype=torch.int64),
    }
    dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(str(tmp_path)))
    assert state["rows"].equal(expected) and state["columns"].equal(expected)
    assert state["all"].tolist() == [0, 1, 2, 3]
    parts = tmp_path / "sharded" if consolidated else tmp_path
    assert len(list(parts.glob("shard-*"))) == 3
    assert (tmp_path / "model-00001-of-00001.safetensors").exists() == consolidated
    worlds.check(
        f"""
        import mindtorch_v2.distributed.checkpoint as dcp
        from mindtorch_v2.distributed.device_mesh import init_device_mesh
        from mindtorch_v2.distributed.tensor import Shard, distribute_tensor
        mesh = init_device_mesh("cpu", (size,))
        state = {{"rows": distribute_tensor(torch.zeros(7, 5), mesh, [Shard(1)])}}
        dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader("{tmp_path}"))
        assert state["rows"].full_tensor().equal(torch.arange(35.0).view(7, 5))
        """,
        2,
    )
