"""``mindtorch plan`` says what a real training on as many cards takes, and says clearly what cannot be planned."""

import gc
import json
from collections import Counter

import npu_ranks
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _cli, nn
from mindtorch_v2._plan import memory
from mindtorch_v2._plan.cases import NAMED, WAYS, Case, Links, Sizes
from mindtorch_v2._plan.measure import measure, one_of_many, sent_by_each
from mindtorch_v2._plan.memory import Purpose
from mindtorch_v2._plan.models import blocks_of, decoder
from mindtorch_v2._plan.training import Training
from mindtorch_v2.distributed import world

WHOLE_MESSAGE = {"all_gather": 0, "reduce_scatter": 1, "all_to_all": 1, "scatter": 0, "gather": 1}
SMALL = decoder("small", Sizes(3, 128, 4, 320, 500, key_heads=2), batch=2, sequence=64, fused=False)


@pytest.fixture(scope="module", params=[2, 4])
def cards(request, tmp_path_factory):
    with npu_ranks.group_of(request.param, tmp_path_factory.mktemp("plan")) as ranks:
        yield ranks


def counted(function, name, traffic):
    def called(*arguments):
        traffic[name] += arguments[WHOLE_MESSAGE.get(name, 0)].nbytes
        return function(*arguments)

    return called


def really(rank, case):
    """The memory that a step took at most and the bytes of its collectives, on a device."""
    torch.npu.empty_cache()
    before = torch.npu.memory_allocated()
    training = Training(SMALL, case, "npu")
    for _ in range(2):
        training.step()
    torch.npu.synchronize()
    gc.collect()
    traffic, patched = Counter(), []
    for group in world._world.groups.values():
        engine = group.engine_for("npu")
        for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all"):
            setattr(engine, name, counted(getattr(engine, name), name, traffic))
            patched.append((engine, name))
    torch.npu.reset_peak_memory_stats()
    training.step()
    torch.npu.synchronize()
    peak = torch.npu.max_memory_allocated() - before
    for engine, name in patched:
        delattr(engine, name)
    del training
    gc.collect()
    return peak, dict(traffic)


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_plan_has_the_traffic_and_the_memory_of_a_real_step(cards, way, checkpointing):
    case = Case(way, cards.size, checkpointing, dtype="float32", tensor_parallel=2)
    peak, traffic = cards.run(really, case)[0]
    planned = measure(SMALL, case, Links())
    messages = Counter()
    for each in planned.traffic:
        messages[each.collective] += each.bytes
    assert messages == traffic
    assert planned.memory.peak == pytest.approx(peak, rel=0.03)


def plan(capsys, *arguments):
    """What the command says: its code, its output and its errors."""
    code = _cli.main(["plan", *arguments])
    return code, *capsys.readouterr()


def test_the_command_shows_a_table_and_says_what_are_formulas(capsys):
    code, said, _ = plan(
        capsys, "--model", "7B", "--layers", "2", "--cards", "8", "--ways", "ddp", "fsdp", "--traffic"
    )
    assert code == 0
    lines = said.splitlines()
    assert [line.split()[:3] for line in lines if line.startswith(("DDP", "FSDP "))][:4] == [
        ["DDP", "no", "8"], ["DDP", "yes", "8"], ["FSDP", "no", "8"], ["FSDP", "yes", "8"],
    ]  # fmt: skip
    assert "reduce_scatter" in said and "Formulas: sent" in said


def test_the_command_writes_json(capsys):
    code, said, _ = plan(
        capsys, "--ways", "fsdp", "--cards", "64", "1024", "--checkpointing", "yes", "--json"
    )
    found = json.loads(said)
    assert code == 0 and [case["cards"] for case in found["cases"]] == [64, 1024]
    few, many = found["cases"]
    assert few["parameters"] == many["parameters"] == 6738415616  # as Llama 2 has
    assert few["peak_bytes"] == sum(few["bytes_at_peak"].values())
    assert few["most_bytes"]["parameters"] > 10 * many["most_bytes"]["parameters"]
    assert [sort["collective"] for sort in few["traffic"]] == ["all_gather", "reduce_scatter"]


def test_seventy_billion_parameters_on_a_thousand_cards_are_planned_in_seconds():
    found = measure(decoder("70B", NAMED["70B"], 1, 4096), Case("fsdp", 1024, True), Links())
    assert found.parameters == 68976648192
    assert found.memory.each[Purpose.OPTIMIZER] == pytest.approx(2 * 2 * found.parameters / 1024, rel=0.01)


MODEL = """
import torch
from torch import nn
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(64, 256), nn.Linear(256, 64)) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
TENSOR_PARALLEL
def model():
    return Net(), torch.randn(8, 64)

def nothing():
    return Net()
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.py"
    text = MODEL.replace("import torch\n", "import mindtorch_v2 as torch\n", 1)
    path.write_text(text.replace("from torch", "from mindtorch_v2").replace("TENSOR_PARALLEL", ""))
    return path


def test_a_model_of_a_file_is_planned(capsys, file):
    code, said, _ = plan(
        capsys, "--model", f"{file}:model", "--ways", "ddp", "fsdp", "--cards", "4", "--json"
    )
    cases = json.loads(said)["cases"]
    assert code == 0 and cases[0]["parameters"] == 4 * (64 * 256 + 256 + 256 * 64 + 64)
    assert [sort["calls"] for sort in cases[2]["traffic"]] == [
        2 * 4,
        4,
    ]  # for each layer: forward and backward


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--model", "8B"], "expected one of 7B, 13B, 70B, or file.py:function"),
        (["--model", "FILE:other"], "has no function 'other'"),
        (["--model", "FILE:nothing", "--ways", "ddp"], "expected a pair: a model, and a tuple"),
        (["--model", "FILE:model", "--ways", "tp_fsdp"], "has no method tensor_parallel_plan()"),
        (["--model", "FILE:model", "--layers", "3"], "--layers is for decoders"),
        (["--hidden", "4097"], "--hidden 4097 is not made of 32 heads"),
        (["--layers", "0"], "--layers is 0, expected a positive number"),
        (["--sequence", "0"], "--sequence is 0, expected a positive number"),
        (["--ways", "tp_fsdp", "--cards", "12"], "12 cards are not a multiple of --tensor-parallel 8"),
        (["--inside", "0"], "--inside is 0.0, expected a positive number"),
        (["--cards", "0"], "expected a positive number"),
    ],
)
def test_what_cannot_be_planned_is_said_clearly(capsys, file, arguments, wanted):
    code, _, said = plan(capsys, *(each.replace("FILE", str(file)) for each in arguments))
    assert code == 2 and wanted in said


def test_rings_send_what_the_formula_says():
    assert sent_by_each("all_reduce", 800, 8) == 1400
    assert sent_by_each("all_gather", 800, 8) == sent_by_each("reduce_scatter", 800, 8) == 700
    assert sent_by_each("broadcast", 800, 8) == 800
    assert sent_by_each("all_reduce", 800, 1) == 0


def test_memory_on_meta_is_counted_by_purpose():
    with memory.meant_for(Purpose.INPUTS):
        kept = torch.empty(1024, device="meta")
    memory.begin()
    start = memory.highest()
    with memory.meant_for(Purpose.ACTIVATIONS):
        made = kept + 1
        del made
        other = torch.empty(10, device="meta")
    found = memory.highest()
    assert found.peak - start.peak == 4096  # the sum, while it lived
    assert found.each[Purpose.ACTIVATIONS] - start.each[Purpose.ACTIVATIONS] == 4096
    memory.begin()
    memory.assign([other], Purpose.GRADIENTS)
    assert memory.highest().each[Purpose.GRADIENTS] == start.each[Purpose.GRADIENTS] + 512  # a block
    kept.untyped_storage().resize_(0)
    memory.begin()
    assert memory.highest().each[Purpose.INPUTS] == start.each[Purpose.INPUTS] - 4096


def test_the_layers_that_a_model_repeats_are_found():
    model = nn.Sequential(nn.Linear(2, 2), nn.ModuleList(nn.Linear(2, 2) for _ in range(3)), nn.ReLU())
    assert blocks_of(model) == list(model[1])
    assert blocks_of(nn.Linear(2, 2)) == []


def test_a_mesh_of_tensors_without_values_has_groups_in_planning_only():
    with one_of_many(6):
        mesh = torch.distributed.init_device_mesh("meta", (3, 2))
        assert [mesh.get_group(dim).size() for dim in range(2)] == [3, 2]
