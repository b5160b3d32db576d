"""Programs written for torch_npu, run as they are: the NPU's losses are the CPU's, step by step."""

import os
from pathlib import Path

import pytest


def assert_close(got: list[float], wanted: list[float], tolerance: float) -> None:
    assert len(got) == len(wanted) > 0
    assert got == pytest.approx(wanted, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW", "RMSprop"])
def test_a_small_network_trains_as_on_the_cpu(run_on_both, optimizer: str) -> None:
    npu, cpu = run_on_both("train_mlp", optimizer)
    assert_close(npu["losses"], cpu["losses"], 1e-4)
    assert npu["losses"][-1] < 0.7 * npu["losses"][0]


def test_a_residual_convolutional_network_trains_as_on_the_cpu(run_on_both) -> None:
    npu, cpu = run_on_both("train_convnet")
    assert_close(npu["losses"], cpu["losses"], 1e-3)
    assert npu["accuracy"] == pytest.approx(cpu["accuracy"], abs=0.03)


def test_a_transformer_trains_as_on_the_cpu(run_on_both) -> None:
    npu, cpu = run_on_both("train_transformer", 0.0, "float32")
    assert_close(npu["losses"], cpu["losses"], 1e-3)
    assert npu["losses"][-1] < 0.7 * npu["losses"][0]


def test_a_transformer_under_autocast_trains_as_on_the_cpu(run_on_both) -> None:
    # Few steps: PyTorch's are slow on processors without instructions for bfloat16.
    npu, cpu = run_on_both("train_transformer", 0.0, "bfloat16", 6)
    assert npu["logits"] == cpu["logits"] == "torch.bfloat16"
    assert_close(npu["losses"], cpu["losses"], 3e-2)


def test_a_transformer_with_dropout_learns_and_drops_the_right_share(run_program) -> None:
    npu = run_program("train_transformer", "npu", 0.1, "float16")
    assert npu["logits"] == "torch.float16"
    assert npu["losses"][-1] < 0.85 * npu["losses"][0]
    # 150,000 values: five standard deviations are 0.004.
    assert npu["dropped"] == pytest.approx(0.1, abs=0.004)


def test_training_goes_on_after_loading_as_if_nothing_had_happened(run_on_both, tmp_path: Path) -> None:
    npu, cpu = run_on_both("save_load", tmp_path)
    assert npu["after_loading"] == npu["losses"]
    assert npu["devices"] == ["npu"]
    assert npu["inputs_equal"]
    assert_close(npu["losses"], cpu["losses"], 1e-4)


def test_a_program_recovers_from_out_of_memory(run_program) -> None:
    npu = run_program("out_of_memory", "npu", SOFTNPU_MEMORY="256MiB")
    assert "NPU out of memory" in npu["message"]
    assert npu["losses"][-1] < npu["losses"][0]
    assert npu["sum"] == 0


@pytest.mark.parametrize(
    "program",
    [
        ("train_mlp", "npu", "SGD"),
        ("train_transformer", "npu", 0.1, "float16"),
        ("recurrent", "npu", "layer('LSTM')", "packed()", "layer('GRU', torch.bfloat16, num_layers=2)"),
    ],
)
def test_the_sanitizer_finds_nothing_in_a_right_program(run_program, tmp_path: Path, program) -> None:
    log = tmp_path / "reports.jsonl"
    run_program(*program, SOFTNPU_SANITIZE="1", SOFTNPU_SANITIZE_LOG=str(log))
    assert not log.exists() or log.read_text() == ""


def test_memory_of_expandable_segments_gives_the_same_losses(run_on_both) -> None:
    npu, cpu = run_on_both("train_mlp", "Adam", PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")
    assert_close(npu["losses"], cpu["losses"], 1e-4)


def test_two_processes_train_together(run_on_both) -> None:
    npu, cpu = run_on_both("ddp", devices=("hccl", "gloo"), SOFTNPU_DEVICES="2")
    assert npu["weights_agree"]
    assert_close(npu["losses"], cpu["losses"], 1e-4)


@pytest.mark.parametrize("order", [("torch_npu", "mindtorch_v2"), ("mindtorch_v2", "torch_npu")])
def test_both_packages_use_the_npu_of_one_process(run_program, order: tuple[str, str]) -> None:
    source = Path(__file__).resolve().parents[2] / "src"
    path = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])
    assert run_program("beside_mindtorch", *order, PYTHONPATH=path)["sums"] == [2.0 * 32**3] * 3
