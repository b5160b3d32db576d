"""Checkpoints: PyTorch loads ours and we load PyTorch's, by other numbers of processes; states have the same names."""

import pickle
import warnings
from pathlib import Path

import pytest
import torch
import torch.distributed.checkpoint as their_checkpoints
import torch.distributed.checkpoint.state_dict as their_states
from rank_processes import run_ranks

import mindtorch_v2
import mindtorch_v2.distributed as dist
import mindtorch_v2.distributed.checkpoint as our_checkpoints
import mindtorch_v2.distributed.checkpoint.state_dict as our_states

PROGRAM = Path(__file__).with_name("checkpoint_program.py")
pytestmark = pytest.mark.filterwarnings("ignore")


def world(library, action, folder, size):
    store = f"{folder}.{library}.{action}"
    run_ranks(size, lambda rank: [PROGRAM, library, action, folder, rank, size, store])


@pytest.mark.timeout(300)
@pytest.mark.skipif(not dist.is_gloo_available(), reason="the extra 'distributed' is not installed")
@pytest.mark.parametrize(
    ("saves", "loads"), [(("torch", 2), ("mindtorch_v2", 3)), (("mindtorch_v2", 3), ("torch", 2))]
)
def test_what_one_library_saves_the_other_loads_under_another_number_of_processes(tmp_path, saves, loads):
    world(saves[0], "save", tmp_path / "made", saves[1])
    world(loads[0], "load", tmp_path / "made", loads[1])


def test_the_files_of_a_checkpoint_say_the_same(tmp_path):
    told = {}
    for library, checkpoints in ((torch, their_checkpoints), (mindtorch_v2, our_checkpoints)):
        folder = tmp_path / library.__name__
        checkpoints.save(
            {
                "a": {"b": library.arange(6.0).reshape(2, 3)},
                "n": 1,
                "p": library.nn.Parameter(library.ones(2)),
            },
            checkpoint_id=folder,
        )
        assert sorted(each.name for each in folder.iterdir()) == [".metadata", "__0_0.distcp"]
        told[library] = pickle.loads((folder / ".metadata").read_bytes())  # PyTorch's classes, from either
    theirs, ours = told[torch], told[mindtorch_v2]
    assert ours.state_dict_metadata == theirs.state_dict_metadata
    assert ours.planner_data == theirs.planner_data and ours.version == theirs.version
    assert ours.storage_data.keys() == theirs.storage_data.keys()
    assert vars(ours).keys() == vars(theirs).keys()


def test_contents_as_older_versions_list_them_are_read(tmp_path):
    from torch.distributed._shard.sharded_tensor.metadata import TensorProperties

    their_checkpoints.save({"a": torch.arange(6.0)}, checkpoint_id=tmp_path)
    metadata = their_checkpoints.FileSystemReader(tmp_path).read_metadata()
    metadata.state_dict_metadata["a"].properties = TensorProperties(dtype=torch.float32)
    del metadata.storage_meta, metadata.version
    (tmp_path / ".metadata").write_bytes(pickle.dumps(metadata))
    found = {"a": mindtorch_v2.zeros(6)}
    our_checkpoints.load(found, checkpoint_id=tmp_path)
    assert found["a"].tolist() == list(range(6))


NESTED = [
    {"a": [1, 2]}, {"a": [[1], [2]]}, {"a": ("t", 1)}, {"a": ["t", 1]}, {"a": []}, {"a": {}}, {"a": {"b": {}}},
    {"a": ({"x": 1},)}, {"a": [{"x": 1}]}, {"a": [["t"]]}, {1: {2: "t"}}, {"a.b": 1, "a": {"c": 1}},
]  # fmt: skip


@pytest.mark.parametrize("nested", NESTED, ids=str)
def test_nested_states_get_the_same_names(nested):
    from torch.distributed.checkpoint._nested_dict import flatten_state_dict as theirs

    from mindtorch_v2.distributed.checkpoint._nested_dict import flatten_state_dict as ours

    def filled(value, library):
        if value == "t":
            return library.zeros(1)
        if isinstance(value, dict):
            return {key: filled(each, library) for key, each in value.items()}
        return (
            type(value)(filled(each, library) for each in value)
            if isinstance(value, (list, tuple))
            else value
        )

    assert ours(filled(nested, mindtorch_v2))[1] == theirs(filled(nested, torch))[1]


def model_of(library):
    library.manual_seed(0)

    class Model(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = library.nn.Linear(2, 3), library.nn.Linear(3, 2)
            self.register_buffer("kept", library.ones(1))
            self.register_buffer("lost", library.ones(1), persistent=False)
            self.again = self.first.weight
            self.second.bias.requires_grad_(False)

    model = Model()
    groups = [{"params": model.first.parameters(), "lr": 0.1}, {"params": model.second.parameters()}]
    return model, library.optim.AdamW(groups, lr=0.2)


def shapes(value):
    if isinstance(value, dict):
        return {key: shapes(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shapes(each) for each in value]
    return tuple(value.shape) if hasattr(value, "shape") else value


OPTIONS = [
    {}, {"full_state_dict": True}, {"cpu_offload": True}, {"ignore_frozen_params": True},
    {"flatten_optimizer_state_dict": True}, {"full_state_dict": True, "cpu_offload": True},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_states_of_models_and_optimizers_have_the_same_names_and_shapes(options):
    found = []
    for library, states in ((torch, their_states), (mindtorch_v2, our_states)):
        model, optimizer = model_of(library)
        found.append(
            shapes(list(states.get_state_dict(model, optimizer, options=states.StateDictOptions(**options))))
        )
    theirs, ours = found
    assert dict(ours[0]) == dict(theirs[0]) and ours[1] == theirs[1]


@pytest.mark.parametrize("keep", [True, False])
def test_states_of_submodules_have_the_same_names(keep):
    found = []
    for library, states in ((torch, their_states), (mindtorch_v2, our_states)):
        model, _ = model_of(library)
        options = states.StateDictOptions(keep_submodule_prefixes=keep)
        found.append(list(states.get_model_state_dict(model, submodules={model.first}, options=options)))
    assert found[0] == found[1]


def errors(call):
    """What is raised, or on which ranks what."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except BaseException as error:  # noqa: BLE001 - CheckpointException is one, in PyTorch too
        if type(error).__name__ == "CheckpointException":
            return {rank: (type(each).__name__, str(each)) for rank, (each, _) in error.failures.items()}
        return type(error).__name__, str(error).replace("mindtorch_v2.", "torch.")
    raise AssertionError("nothing was raised")


WRONG = {
    "missing": lambda library, dcp, there: dcp.load({"c": library.zeros(2)}, checkpoint_id=there),
    "size": lambda library, dcp, there: dcp.load({"a": library.zeros(2)}, checkpoint_id=there),
    "no folder": lambda library, dcp, there: dcp.load({"a": library.zeros(2, 3)}),
    "nowhere": lambda library, dcp, there: dcp.save({"a": library.zeros(2, 3)}),
    "no overwriting": lambda library, dcp, there: dcp.save(
        {"a": 1}, storage_writer=dcp.FileSystemWriter(there, overwrite=False)
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_alike(tmp_path, case):
    said = []
    for library, checkpoints in ((torch, their_checkpoints), (mindtorch_v2, our_checkpoints)):
        folder = tmp_path / library.__name__
        checkpoints.save({"a": library.ones(2, 3)}, checkpoint_id=folder)
        said.append(errors(lambda: WRONG[case](library, checkpoints, folder)))  # noqa: B023 - called at once
    assert said[0] == said[1]


def test_a_missing_state_of_an_optimizer_is_said_alike():
    said = []
    for library, states in ((torch, their_states), (mindtorch_v2, our_states)):
        model, optimizer = model_of(library)
        state = states.get_optimizer_state_dict(model, optimizer)
        del state["state"]["second.weight"]
        said.append(errors(lambda: states.set_optimizer_state_dict(model, optimizer, state)))  # noqa: B023
        said.append(errors(lambda: states.set_optimizer_state_dict(model, optimizer, {})))  # noqa: B023
    assert said[:2] == said[2:]
