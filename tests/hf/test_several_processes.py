"""Programs with Accelerate and with the Trainer, started by their launchers, train as two processes as one does."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import accelerate_program
import pytest
import trainer_program
from accelerate.state import AcceleratorState, GradientState

HERE = Path(__file__).parent
TRAINING = (
    "--max_steps 6 --learning_rate 1e-2 --logging_steps 1 --save_steps 3 --report_to none --disable_tqdm true"
).split()
CLOSE = 1e-4
pytestmark = pytest.mark.timeout(300)  # processes that load transformers, on a machine that may be busy


def launched(*command: str, device: str, file: Path) -> dict:
    """What a program wrote, which this command started on this device."""
    environment = os.environ | {
        "MINDTORCH_NPU": "soft",
        "SOFTNPU_DEVICES": "2",
        "OMP_NUM_THREADS": "1",
        "ACCELERATE_USE_CPU": str(device == "cpu"),
    }
    start = [sys.executable, "-m", "mindtorch_v2", "run", *command]
    ended = subprocess.run(start, env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-8000:]
    return json.loads(file.read_text())


@contextmanager
def alone() -> Iterator[None]:
    """Programs run in this process, on the CPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACCELERATE_USE_CPU", "true")
        _forget()
        yield
        _forget()


def _forget() -> None:
    GradientState._reset_state()
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture(scope="module")
def loop_alone(tmp_path_factory):
    file = tmp_path_factory.mktemp("loop") / "alone"
    with alone():
        accelerate_program.main(str(file))
    return json.loads(file.read_text())


@pytest.fixture(scope="module")
def trainer_alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trainer")
    options = "--save_strategy no --per_device_train_batch_size 8 --use_cpu true".split()
    with alone():
        trainer_program.main(
            str(folder / "alone"), *TRAINING, "--output_dir", str(folder / "output"), *options
        )
    return json.loads((folder / "alone").read_text())


def same(found: dict, wanted: dict) -> None:
    for key in ("losses", "norms"):
        assert found[key] == pytest.approx(wanted[key], abs=CLOSE), key
    assert found["weights"] == pytest.approx(wanted["weights"], rel=CLOSE)


LAUNCHERS = {
    "torchrun": "torchrun --standalone --nproc-per-node 2",
    "accelerate_launch": "accelerate launch --multi_gpu --num_processes 2 --main_process_port 0",
}


def test_accelerate_launch_trains_data_parallel(loop_alone, device, tmp_path):
    launcher, file = LAUNCHERS["accelerate_launch"].split(), tmp_path / "two"
    found = launched(*launcher, str(HERE / "accelerate_program.py"), str(file), device=device, file=file)
    assert (found["processes"], found["device"]) == (2, device)
    assert (found["kind"], found["wrapped"]) == (
        f"DistributedType.MULTI_{device.upper()}",
        "DistributedDataParallel",
    )
    same(found, loop_alone)


def trainer_of_two(device: str, folder: Path, *options: str, launcher: str = "torchrun") -> dict:
    file, output = folder / "two", ["--output_dir", str(folder / "output")]
    found = launched(
        *LAUNCHERS[launcher].split(), str(HERE / "trainer_program.py"), str(file), *TRAINING,
        *output, *"--per_device_train_batch_size 4 --use_cpu".split(), str(device == "cpu"), *options, device=device,
        file=file,
    )  # fmt: skip
    assert (found["processes"], found["device"]) == (2, device)
    return found


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_trainer_trains_data_parallel_and_resumes_under(launcher, trainer_alone, device, tmp_path):
    found = trainer_of_two(device, tmp_path, launcher=launcher)
    assert found["wrapped"] == "DistributedDataParallel"
    same(found, trainer_alone)
    assert found["evaluated"] == pytest.approx(trainer_alone["evaluated"], abs=CLOSE)
    assert found["resumed"] == pytest.approx(trainer_alone["losses"], abs=CLOSE)


WRAPPED = {1: "FullyShardedDataParallel", 2: "FSDPLlamaForCausalLM"}
BLOCKS = (
    "--fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer"
)


def sharded_loop(version: int, device: str, file: Path) -> dict:
    launcher = "accelerate launch --num_processes 2 --main_process_port 0 --use_fsdp".split()
    options = f"--fsdp_version {version} --fsdp_state_dict_type FULL_STATE_DICT {BLOCKS}".split()
    program = [str(HERE / "accelerate_program.py"), str(file)]
    return launched(*launcher, *options, *program, device=device, file=file)


@pytest.mark.parametrize("version", WRAPPED)
def test_accelerate_launch_trains_a_sharded_model(loop_alone, version, tmp_path):
    found = sharded_loop(version, "npu", tmp_path / "two")
    assert (found["processes"], found["device"]) == (2, "npu")
    assert (found["kind"], found["wrapped"]) == ("DistributedType.FSDP", WRAPPED[version])
    same(found, loop_alone)


def test_accelerate_trains_data_parallel_on_the_cpu_where_a_sharded_model_was_asked_for(loop_alone, tmp_path):
    found = sharded_loop(2, "cpu", tmp_path / "two")  # as it does on PyTorch
    assert (found["kind"], found["wrapped"]) == ("DistributedType.MULTI_CPU", "DistributedDataParallel")
    same(found, loop_alone)


@pytest.mark.parametrize(("version", "states"), [(1, "FULL_STATE_DICT"), (2, "SHARDED_STATE_DICT")])
def test_the_trainer_trains_a_sharded_model_and_resumes_under_torchrun(
    trainer_alone, version, states, tmp_path
):
    settings = {
        "version": version,
        "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"],
        "state_dict_type": states,
        "activation_checkpointing": version == 2,
    }
    (tmp_path / "sharding.json").write_text(json.dumps(settings))
    sharding = ["--fsdp", "full_shard auto_wrap", "--fsdp_config", str(tmp_path / "sharding.json")]
    found = trainer_of_two("npu", tmp_path, *sharding)
    assert (found["kind"], found["wrapped"]) == ("DistributedType.FSDP", WRAPPED[version])
    same(found, trainer_alone)
    assert found["evaluated"] == pytest.approx(trainer_alone["evaluated"], abs=CLOSE)
    assert found["resumed"] == pytest.approx(trainer_alone["losses"], abs=CLOSE)
