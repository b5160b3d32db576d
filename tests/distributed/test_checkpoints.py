"""Checkpoints of several processes: loaded by other numbers of processes and in other cuts."""

import json
import os
from pathlib import Path

import pytest
import worlds

import mindtorch_v2.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_gloo_available(), reason="the extra 'distributed' is not installed"
)
HERE = str(Path(__file__).parent)


def world(text, size, **options):
    start = f"import warnings\nwarnings.simplefilter('ignore')\nsys.path.insert(0, {HERE!r})\n"
    start += "from checkpoint_world import *\n"
    worlds.check(start + text, size, seconds=60, OMP_NUM_THREADS="1", **options)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """What four processes saved, and the losses of the models after that."""
    folder = tmp_path_factory.mktemp("checkpoints")
    world(
        f"""
import json
folder = {str(folder)!r}
metadata = save_all_cuts(folder + "/cuts")
assert all(os.path.getsize(f"{{folder}}/cuts/__{{r}}_0.distcp") > 0 for r in range(4))
bytes_of = dict.fromkeys(range(4), 0)
for place in metadata.storage_data.values():
    bytes_of[int(place.relative_path.split("_")[2])] += place.length
assert len(metadata.storage_data) == sum(
    len(getattr(each, "chunks", [1])) for each in metadata.state_dict_metadata.values()
)
parts = [len(metadata.state_dict_metadata[cut + ".table"].chunks) for cut in ("plain", "whole", "copies1")]
assert parts == [1, 1, 2], parts
assert max(bytes_of.values()) < 1.5 * min(bytes_of.values()), bytes_of

losses = {{}}
for how in ("fsdp", "tensor", "ddp"):
    training = Training(how)
    train(training.model, training.optimizer, range(3))
    dcp.save({{"training": training}}, checkpoint_id=f"{{folder}}/{{how}}")
    losses[how] = train(training.model, training.optimizer, range(3, 6))
if rank == 0:
    with open(folder + "/losses.json", "w") as file:
        json.dump(losses, file)
""",
        4,
    )
    return folder


def load_models(folder, size, first="fsdp"):
    losses = json.loads((folder / "losses.json").read_text())
    hows = ("fsdp", "tensor", "ddp") if size > 1 else ("plain",)
    return f"""
for at, saved in enumerate(("fsdp", "tensor", "ddp")):
    for how in {hows!r}:
        training = Training(how)
        dcp.load({{"training": training}}, checkpoint_id={str(folder)!r} + "/" + saved)
        found = train(training.model, training.optimizer, range(3, 6))
        wanted = {losses!r}[saved]
        assert all(abs(a - b) < 1e-5 for a, b in zip(found, wanted)), (saved, how, found, wanted)
"""


@pytest.mark.parametrize("size", [2, 3])
def test_what_four_processes_saved_is_loaded_in_any_cut_by(saved, size):
    world(f"load_all_cuts({str(saved)!r} + '/cuts')\n" + load_models(saved, size), size)


def test_one_process_loads_what_four_saved(saved):
    world(f"load_all_cuts({str(saved)!r} + '/cuts')\n" + load_models(saved, 1), 1)


def test_what_the_wrapper_class_saves_at_two_is_loaded_at_four_and_at_one(tmp_path):
    place = repr(str(tmp_path))
    world(
        f"""
import json
training = Training("wrapper")
train(training.model, training.optimizer, range(3))
names = list(training.state_dict()["model"])
assert sorted(names) == ["down.bias", "down.weight", "mean", "up.bias", "up.weight"], names
dcp.save({{"training": training}}, checkpoint_id={place} + "/saved")
losses = train(training.model, training.optimizer, range(3, 6))
if rank == 0:
    with open({place} + "/losses.json", "w") as file:
        json.dump(losses, file)
""",
        2,
    )
    losses = json.loads((tmp_path / "losses.json").read_text())
    for size, ways in ((4, ("wrapper", "fsdp")), (1, ("wrapper", "plain"))):
        world(
            f"""
for how in {ways!r}:
    training = Training(how)
    dcp.load({{"training": training}}, checkpoint_id={place} + "/saved")
    found = train(training.model, training.optimizer, range(3, 6))
    assert all(abs(a - b) < 1e-5 for a, b in zip(found, {losses!r})), (how, found)
    with FullyShardedDataParallel.summon_full_params(training.model) if how == "wrapper" else torch.no_grad():
        assert how == "fsdp" or training.model.up.weight.shape == (12, 6)
""",
            size,
        )


def test_states_are_whole_on_the_first_process_and_sent_from_it():
    world(
        """
import copy
from mindtorch_v2.distributed.checkpoint.state_dict import *
training = Training("fsdp")
train(training.model, training.optimizer, range(2))
full = StateDictOptions(full_state_dict=True, cpu_offload=True)
of_model, of_optimizer = copy.deepcopy(get_state_dict(training.model, training.optimizer, options=full))
if rank:
    assert of_model == {} and of_optimizer == {}
else:
    assert of_model["up.weight"].shape == (12, 6) and not hasattr(of_model["up.weight"], "to_local")
    assert of_optimizer["state"]["up.weight"]["exp_avg"].shape == (12, 6)
wanted = train(training.model, training.optimizer, range(2, 4))
for how in ("fsdp", "tensor", "ddp"):
    model, optimizer = network(how)
    sent = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    found = set_state_dict(model, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer, options=sent)
    assert found.missing_keys == [] and found.unexpected_keys == []
    again = train(model, optimizer, range(2, 4))
    assert all(abs(a - b) < 1e-5 for a, b in zip(again, wanted)), (how, again, wanted)
    flat = StateDictOptions(flatten_optimizer_state_dict=True, full_state_dict=True)
    held = get_optimizer_state_dict(model, optimizer, options=flat)
    held["param_groups.up.weight.lr"] = held["param_groups.up.bias.lr"] = 0.5
    set_optimizer_state_dict(model, optimizer, held, options=flat)
    assert optimizer.param_groups[0]["lr"] == 0.5
with torch.device("meta"):
    empty = Network()
set_model_state_dict(empty, of_model, options=sent)
assert empty.up.weight.device.type == "cpu" and all(
    torch.equal(empty.state_dict()[name], value) for name, value in of_model.items()
)
""",
        2,
    )


def test_a_state_saved_beside_the_program_is_the_one_at_the_time_of_the_call(tmp_path):
    world(
        f"""
from mindtorch_v2.distributed.checkpoint.staging import DefaultStager
folder = {str(tmp_path)!r}
w = distribute_tensor(torch.ones(300_000), mesh(), [Shard(0)])
state = {{"w": w, "step": [1]}}
for at, options in enumerate(({{}}, {{"async_stager": DefaultStager()}})):
    saving = dcp.async_save(state, checkpoint_id=f"{{folder}}/{{at}}", **options)
    if options:
        saving.staging_completion.result()
        saving = saving.upload_completion
    for _ in range(20):  # messages of the program meanwhile
        w.to_local().add_(1)
        dist.all_reduce(torch.ones(5))
    saving.result()
    found = {{"w": distribute_tensor(torch.zeros(300_000), mesh(), [Shard(0)]), "step": None}}
    dcp.load(found, checkpoint_id=f"{{folder}}/{{at}}")
    assert (found["w"].to_local() == 1 + 20 * at).all() and found["step"] == [1]
""",
        2,
    )


def test_a_process_that_writes_beside_the_program_and_what_happens_when_it_dies(tmp_path):
    world(
        f"""
import signal
from mindtorch_v2.distributed.checkpoint import _writing_process as writing
from mindtorch_v2.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
folder = {str(tmp_path)!r} + "/by_process"
process = {{"checkpoint_id": folder, "async_checkpointer_type": AsyncCheckpointerType.PROCESS}}
w = distribute_tensor(torch.ones(30_000), mesh(), [Shard(0)])
saving = dcp.async_save({{"w": w, "step": [1]}}, **process)
w.to_local().add_(1)
saving.result()
(writer,) = writing._process()._processes
assert writer != os.getpid()

def loaded():
    found = {{"w": distribute_tensor(torch.zeros(30_000), mesh(), [Shard(0)]), "step": None}}
    dcp.load(found, checkpoint_id=folder)
    return set(found["w"].to_local().tolist()), found["step"]

assert loaded() == ({{1.0}}, [1])
dist.barrier()
if rank == 1:
    os.kill(writer, signal.SIGKILL)
said = error_of(lambda: dcp.async_save({{"w": w, "step": [2]}}, **process).result(), dcp.CheckpointException)
assert "(RANK 1)" in said and "(RANK 0)" not in said, said
assert loaded() == ({{1.0}}, [1])
dcp.async_save({{"w": w, "step": [3]}}, **process).result()
assert loaded() == ({{2.0}}, [3])
""",
        2,
    )


def test_what_is_no_part_of_a_tensor_is_refused_on_every_process(tmp_path):
    world(
        f"""
from mindtorch_v2.distributed.tensor import DTensor, Partial
folder = {str(tmp_path)!r} + "/refused"
refused = lambda state: error_of(lambda: dcp.save(state, checkpoint_id=folder), dcp.CheckpointException)
said = refused({{"w": DTensor.from_local(torch.ones(2), mesh(), [Partial()])}})
assert "redistribute it to Shard(dim) or Replicate()" in said and "(RANK 0)" in said and "(RANK 1)" in said, said
said = refused({{"w": torch.ones(2 + rank)}})
assert "of shape [2] on one process and of shape [3] on another" in said, said
said = refused({{"w": DTensor.from_local(torch.ones(2 + rank), mesh(), [Shard(0)])}})
assert "of shape [4] on one process and of shape [6] on another" in said, said
said = refused({{"w": DTensor.from_local(torch.ones(2 + rank), mesh(), [Shard(0)], shape=(5,), stride=(1,))}})
assert "tell DTensor.from_local the shape" in said, said
said = refused({{"w": torch.ones(2) if rank else 5}})
assert "no tensor on one process and of shape [2] on another" in said, said
said = refused({{"w": torch.eye(2).to_sparse()}} if rank else {{}})
assert "layout" in said and "(RANK 1)" in said and "(RANK 0)" not in said, said
assert os.listdir(folder) == []
""",
        2,
    )


# ---- faults ------------------------------------------------------------------------------------------


def test_a_full_disk_is_an_error_of_every_process_that_names_rank_and_file_and_the_checkpoint_before_stays(
    tmp_path,
):
    world(
        f"""
import resource
folder = {str(tmp_path)!r} + "/kept"
state = {{"w": distribute_tensor(torch.arange(40_000.0), mesh(), [Shard(0)]), "step": 1}}
dcp.save(state, checkpoint_id=folder)
before = sorted(os.listdir(folder))
dist.barrier()
for full in (0, 1):  # the coordinator's disk, and another's
    if rank == full:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
    began = time.monotonic()
    changed = {{"w": distribute_tensor(torch.zeros(40_000), mesh(), [Shard(0)]), "step": 2}}
    said = error_of(lambda: dcp.save(changed, checkpoint_id=folder), dcp.CheckpointException)
    assert time.monotonic() - began < 30
    assert f"(RANK {{full}})" in said and f"(RANK {{1 - full}})" not in said, said
    assert "File too large" in said and f"{{folder}}/__{{full}}_1.distcp" in said, said
    dist.barrier()
    assert sorted(os.listdir(folder)) == before
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
found = {{"w": distribute_tensor(torch.zeros(40_000), mesh(), [Shard(0)]), "step": 0}}
dcp.load(found, checkpoint_id=folder)
assert torch.equal(found["w"].to_local(), state["w"].to_local()) and found["step"] == 1
dist.barrier()
dcp.save(changed, checkpoint_id=folder)
assert sorted(os.listdir(folder)) == [".metadata", "__0_1.distcp", "__1_1.distcp"]
""",
        2,
    )


def test_a_disk_that_is_full_at_the_end_leaves_the_checkpoint_before(tmp_path):
    world(
        f"""
import resource
folder = {str(tmp_path)!r} + "/kept"
dcp.save({{"w": torch.ones(3)}}, checkpoint_id=folder)
dist.barrier()
# The files of data are small; the list of what they hold is not.
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, resource.RLIM_INFINITY))
writer = dcp.FileSystemWriter(folder, single_file_per_rank=False)
names = {{f"{{'long' * 300}}{{at}}": torch.tensor(1.0) for at in range(2)}}
said = error_of(lambda: dcp.save(names, storage_writer=writer), dcp.CheckpointException)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert "(RANK 0)" in said and "File too large" in said and folder in said, said
dist.barrier()
assert sorted(os.listdir(folder)) == [".metadata", "__0_0.distcp"], os.listdir(folder)
""",
        2,
    )


def test_a_process_killed_while_it_saves_leaves_no_checkpoint_and_the_next_save_removes_its_files(tmp_path):
    text = f"""
folder = {str(tmp_path)!r} + "/torn"
class Deadly(dcp.FileSystemWriter):
    def write_data(self, plan, planner):
        done = super().write_data(plan, planner)
        if rank == 1:
            os.kill(os.getpid(), 9)
        return done
state = {{"w": distribute_tensor(torch.ones(40), mesh(), [Shard(0)])}}
"""
    start = f"import sys\nsys.path.insert(0, {HERE!r})\nfrom checkpoint_world import *\n"
    killed = text + "error_of(lambda: dcp.save(state, storage_writer=Deadly(folder)))\n"
    ended = worlds.run(start + killed, 2, seconds=20, OMP_NUM_THREADS="1")
    assert [each.code for each in ended] == [0, -9], ended
    assert "__1_0.distcp" in os.listdir(tmp_path / "torn")
    world(
        text
        + """
said = error_of(lambda: dcp.load(state, checkpoint_id=folder), dcp.CheckpointException)
assert "begun and not finished: load an earlier one" in said and folder in said, said
dcp.save(state, checkpoint_id=folder)
assert sorted(os.listdir(folder)) == [".metadata", "__0_1.distcp", "__1_1.distcp"], os.listdir(folder)
""",
        2,
    )


def test_states_on_npus_are_saved_and_loaded_in_another_cut(tmp_path):
    text = f"""
torch.npu.set_device(rank)
dist.init_process_group("hccl", timeout=timedelta(seconds=60))
folder = {str(tmp_path)!r}
training = Training("fsdp")
train(training.model, training.optimizer, range(2))
dcp.save({{"training": training}}, checkpoint_id=folder + "/at_once")
saving = dcp.async_save({{"training": training}}, checkpoint_id=folder + "/beside")
wanted = train(training.model, training.optimizer, range(2, 4))
saving.result()
for name in ("at_once", "beside"):
    training = Training("tensor")
    dcp.load({{"training": training}}, checkpoint_id=f"{{folder}}/{{name}}")
    assert training.model.up.weight.to_local().device.type == "npu"
    found = train(training.model, training.optimizer, range(2, 4))
    assert all(abs(a - b) < 1e-5 for a, b in zip(found, wanted)), (found, wanted)
"""
    npus = {"MINDTORCH_NPU": "soft", "SOFTNPU_DEVICES": "2", "CHECKPOINT_DEVICE": "npu"}
    world(text, 2, backend="", **npus)
