"""The files of checkpoints, written and read by one process: what counts, what is refused, and who plans."""

import io
import os
import pickle

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.distributed.checkpoint as dcp
from mindtorch_v2.distributed.checkpoint.filesystem import _StorageInfo
from mindtorch_v2.distributed.checkpoint.format_utils import (
    BroadcastingTorchSaveReader,
    DynamicMetaLoadPlanner,
    dcp_to_torch_save,
    torch_save_to_dcp,
)
from mindtorch_v2.distributed.checkpoint.metadata import Metadata, MetadataIndex
from mindtorch_v2.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys

pytestmark = pytest.mark.filterwarnings("ignore")


def state(filled=True):
    full = torch.ones_like if filled else torch.zeros_like
    return {
        "model": {"w": full(torch.empty(50, 4)), "view": full(torch.empty(100, 100))[:2, 3:5]},
        "list": [full(torch.empty(3, dtype=torch.bfloat16)), {"word": "here" if filled else ""}],
        "step": 5 if filled else 0,
    }


def alike(found, wanted):
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(alike(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(alike, found, wanted))
    return torch.equal(found, wanted) if isinstance(wanted, torch.Tensor) else found == wanted


def failure(call):
    with pytest.raises(dcp.CheckpointException) as raised:
        call()
    ((error, _),) = raised.value.failures.values()
    return error


@pytest.mark.parametrize(
    "options", [{}, {"thread_count": 3}, {"single_file_per_rank": False}, {"sync_files": False}]
)
def test_a_state_is_loaded_as_it_was_saved(tmp_path, options):
    dcp.save(state(), storage_writer=dcp.FileSystemWriter(tmp_path, **options))
    found = state(filled=False)
    tensor = found["model"]["w"]
    dcp.load(found, checkpoint_id=tmp_path)
    assert alike(found, state()) and found["model"]["w"] is tensor
    files = {1: 1, 3: 3}.get(options.get("thread_count", 1)) if "single_file_per_rank" not in options else 5
    assert len(os.listdir(tmp_path)) == files + 1


def test_only_the_view_of_a_tensor_is_saved(tmp_path):
    dcp.save({"view": torch.ones(1000, 1000)[:2, 3:5]}, checkpoint_id=tmp_path)
    assert os.path.getsize(tmp_path / "__0_0.distcp") < 10_000


def test_objects_with_a_state_are_saved_and_get_it_back(tmp_path):
    saved, fresh = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    dcp.save({"model": saved}, checkpoint_id=tmp_path)
    dcp.load({"model": fresh}, checkpoint_id=tmp_path)
    assert torch.equal(fresh.weight, saved.weight)


def test_tensors_without_memory_get_some(tmp_path):
    dcp.save({"w": torch.arange(4.0)}, checkpoint_id=tmp_path)
    found = {"w": torch.empty(4, device="meta")}
    dcp.load(found, checkpoint_id=tmp_path)
    assert found["w"].tolist() == [0, 1, 2, 3]


def test_what_a_checkpoint_has_is_loaded_by_its_names_alone(tmp_path):
    dcp.save(state(), checkpoint_id=tmp_path)
    assert alike(_load_state_dict_from_keys(checkpoint_id=tmp_path), state())
    assert list(_load_state_dict_from_keys("model", checkpoint_id=tmp_path)) == ["model"]
    assert list(_load_state_dict_from_keys({"model.w"}, checkpoint_id=tmp_path)["model"]) == ["w"]


def test_a_checkpoint_becomes_one_file_and_a_checkpoint_again(tmp_path):
    dcp.save(state(), checkpoint_id=tmp_path / "folder")
    dcp_to_torch_save(tmp_path / "folder", tmp_path / "file.pt")
    assert alike(torch.load(tmp_path / "file.pt"), state())
    torch_save_to_dcp(tmp_path / "file.pt", tmp_path / "again")
    found = state(filled=False)
    dcp.load(found, checkpoint_id=tmp_path / "again")
    assert alike(found, state())
    found = {"model": {"w": torch.zeros(50, 4)}}
    dcp.load(
        found,
        storage_reader=BroadcastingTorchSaveReader(tmp_path / "file.pt"),
        planner=DynamicMetaLoadPlanner(),
    )
    assert torch.equal(found["model"]["w"], torch.ones(50, 4))


def test_what_the_checkpoint_lacks_may_stay(tmp_path):
    dcp.save({"a": torch.ones(2)}, checkpoint_id=tmp_path)
    found = {"a": torch.zeros(2), "b": torch.full((1,), 7.0)}
    assert "Missing key" in str(failure(lambda: dcp.load(found, checkpoint_id=tmp_path)))
    dcp.load(found, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    assert found["a"].sum() == 2 and found["b"].item() == 7


def test_the_older_names_do_the_same(tmp_path):
    with pytest.warns(FutureWarning, match="use `save`"):
        dcp.save_state_dict({"a": torch.ones(2)}, dcp.FileSystemWriter(tmp_path), no_dist=True)
    found = {"a": torch.zeros(2)}
    with pytest.warns(FutureWarning, match="use `load`"):
        dcp.load_state_dict(found, dcp.FileSystemReader(tmp_path), no_dist=True)
    assert found["a"].sum() == 2


def test_processes_that_do_not_know_of_each_other_save_for_themselves(tmp_path):
    dcp.save({"a": torch.ones(2)}, checkpoint_id=tmp_path, use_collectives=False)
    assert sorted(os.listdir(tmp_path)) == ["__0.metadata", "__0_0.distcp"]
    found = {"a": torch.zeros(2)}
    dcp.load(found, checkpoint_id=tmp_path)
    assert found["a"].sum() == 2


def test_planners_of_programs_are_asked(tmp_path):
    class Halving(dcp.DefaultSavePlanner):
        def transform_object(self, write_item, object):
            return super().transform_object(
                write_item, object / 2 if isinstance(object, torch.Tensor) else object
            )

    class Doubling(dcp.DefaultLoadPlanner):
        def commit_tensor(self, read_item, tensor):
            tensor.mul_(2)

    dcp.save({"a": torch.full((3,), 6.0)}, checkpoint_id=tmp_path, planner=Halving())
    found = {"a": torch.zeros(3)}
    dcp.load(found, checkpoint_id=tmp_path)
    assert found["a"].tolist() == [3, 3, 3]
    dcp.load(found, checkpoint_id=tmp_path, planner=Doubling())
    assert found["a"].tolist() == [6, 6, 6]


def test_saving_again_replaces_a_checkpoint_at_once_and_removes_its_files(tmp_path):
    dcp.save({"a": torch.ones(2)}, checkpoint_id=tmp_path)
    dcp.save({"a": torch.full((2,), 2.0)}, checkpoint_id=tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".metadata", "__0_1.distcp"]
    found = {"a": torch.zeros(2)}
    dcp.load(found, checkpoint_id=tmp_path)
    assert found["a"].tolist() == [2, 2]


def test_a_failure_anywhere_in_writing_leaves_the_checkpoint_before(tmp_path):
    dcp.save({"a": torch.ones(2)}, checkpoint_id=tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}

    class Unwilling:
        def __reduce__(self):
            raise ValueError("not to be saved")

    error = failure(lambda: dcp.save({"a": torch.zeros(2), "b": Unwilling()}, checkpoint_id=tmp_path))
    assert isinstance(error, ValueError) and str(error) == "not to be saved"
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


def test_what_is_not_a_finished_checkpoint_is_not_loaded(tmp_path):
    found = {"a": torch.zeros(2)}
    said = str(failure(lambda: dcp.load(found, checkpoint_id=tmp_path / "nothing")))
    assert "there is no such checkpoint" in said and "nothing/.metadata" in said
    assert "the folder has no checkpoint" in str(failure(lambda: dcp.load(found, checkpoint_id=tmp_path)))
    dcp.save({"a": torch.ones(2)}, checkpoint_id=tmp_path)
    os.unlink(tmp_path / ".metadata")
    assert "begun and not finished" in str(failure(lambda: dcp.load(found, checkpoint_id=tmp_path)))


def test_a_damaged_file_is_named(tmp_path):
    dcp.save({"a": torch.ones(2000), "n": 5}, checkpoint_id=tmp_path)
    data, path = (tmp_path / "__0_0.distcp").read_bytes(), tmp_path / "__0_0.distcp"
    for part in (data[:3000], b"", data[:100] + bytes(2000) + data[2100:]):
        path.write_bytes(part)
        error = failure(lambda: dcp.load({"a": torch.zeros(2000), "n": 0}, checkpoint_id=tmp_path))
        assert str(path) in str(error) and ("corrupted" in str(error) or "damaged" in str(error))
    path.unlink()
    error = failure(lambda: dcp.load({"a": torch.zeros(2000)}, checkpoint_id=tmp_path))
    assert isinstance(error, FileNotFoundError) and "__0_0.distcp" in str(error)


class _Runs:
    """A pickle of this calls a function when it is loaded."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


HOSTILE = {
    "a call": lambda: pickle.dumps(_Runs(os.mkdir, "/nowhere")),
    "a call, in an old protocol": lambda: pickle.dumps(_Runs(os.system, "true"), 2),
    "a builtin": lambda: pickle.dumps(_Runs(eval, "1")),
    "an attribute of a known module": lambda: b"\x80\x04\x8c\x05torch\x8c\x09functional\x93.",
    "a class that is changed": lambda: (
        b"\x80\x04\x8c\x25torch.distributed.checkpoint.metadata\x8c\x08Metadata\x93N}\x8c\x01xK\x01s\x86b."
    ),
    "no metadata": lambda: pickle.dumps([1, 2]),
    "nothing": lambda: b"",
    "half of it": lambda: b"\x80\x04\x95\x10",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_list_of_contents_is_refused(tmp_path, case):
    (tmp_path / ".metadata").write_bytes(HOSTILE[case]())
    error = failure(lambda: dcp.load({"a": torch.zeros(2)}, checkpoint_id=tmp_path))
    assert isinstance(error, (pickle.UnpicklingError, RuntimeError)) and ".metadata" in str(error)


@pytest.mark.parametrize("place", ["/etc/passwd", "../other/__0_0.distcp", "a/../../b"])
def test_a_list_of_contents_that_points_outside_the_folder_is_refused(tmp_path, place):
    dcp.save({"a": torch.ones(2)}, checkpoint_id=tmp_path)
    metadata = dcp.FileSystemReader(tmp_path).read_metadata()
    metadata.storage_data = {MetadataIndex("a", [0]): _StorageInfo(place, 0, 10)}
    (tmp_path / ".metadata").write_bytes(written(metadata))
    error = failure(lambda: dcp.load({"a": torch.zeros(2)}, checkpoint_id=tmp_path))
    assert "outside the folder" in str(error)


def written(metadata: Metadata) -> bytes:
    from mindtorch_v2.distributed.checkpoint import _metadata_file

    return _metadata_file.written(metadata)


def test_objects_that_would_run_code_are_refused_and_may_be_declared_safe(tmp_path):
    dcp.save({"value": Point(1, 2)}, checkpoint_id=tmp_path)
    found = {"value": None}
    error = failure(lambda: dcp.load(found, checkpoint_id=tmp_path))
    assert isinstance(error, pickle.UnpicklingError) and "add_safe_globals" in str(error)
    with torch.serialization.safe_globals([Point]):
        dcp.load(found, checkpoint_id=tmp_path)
    assert found["value"].x == 1


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


def test_a_part_that_the_checkpoint_lacks_is_not_left_as_it_was(tmp_path):
    dcp.save({"a": torch.ones(4)}, checkpoint_id=tmp_path)
    metadata = dcp.FileSystemReader(tmp_path).read_metadata()
    metadata.state_dict_metadata["a"].chunks.clear()
    (tmp_path / ".metadata").write_bytes(written(metadata))
    error = failure(lambda: dcp.load({"a": torch.zeros(4)}, checkpoint_id=tmp_path))
    assert "has 0 of the 4 elements of a" in str(error)


def test_storages_of_programs_are_used(tmp_path):
    class Memory(dcp.StorageWriter):
        def __init__(self):
            self.held = {}

        def reset(self, checkpoint_id=None):
            self.held.clear()

        def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
            pass

        def prepare_local_plan(self, plan):
            return plan

        def prepare_global_plan(self, plans):
            return plans

        def write_data(self, plan, planner):
            for item in plan.items:
                data = planner.resolve_data(item)
                self.held[item.index.fqn] = data.getvalue() if isinstance(data, io.BytesIO) else data.clone()
            done = torch.futures.Future()
            done.set_result([])
            return done

        def finish(self, metadata, results):
            self.held["finished"] = True

        @classmethod
        def validate_checkpoint_id(cls, checkpoint_id):
            return True

    memory = Memory()
    dcp.save({"a": torch.ones(2), "b": 1}, storage_writer=memory)
    assert (
        memory.held["finished"]
        and memory.held["a"].sum() == 2
        and torch.load(io.BytesIO(memory.held["b"])) == 1
    )


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: dcp.FileSystemWriter("x", thread_count=0), "at least one thread"),
        (lambda: dcp.FileSystemWriter("x", _extensions=[1]), "not transformed"),
    ],
)
def test_options_that_are_not_here_say_so(make, says):
    with pytest.raises((ValueError, NotImplementedError), match=says):
        make()
