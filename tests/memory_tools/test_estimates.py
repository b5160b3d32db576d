"""Estimates of memory are what programs then take."""

import json
import sys
from pathlib import Path

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _cli
from mindtorch_v2.memory_tools.estimates import estimate, peak_of
from mindtorch_v2.memory_tools.pytorch_on_cuda import Gpu, reduction_buffer

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import estimate_programs
import estimates

SEGMENT = 2 << 20
on_npu = pytest.mark.skipif(not torch.npu.is_available(), reason="needs an NPU, the software one too")


@on_npu
@pytest.mark.parametrize("program", estimate_programs.programs(), ids=lambda each: each.name)
def test_an_estimate_is_the_peak_of_the_program_on_an_npu(program):
    allocated, reserved = estimates.on_npu(program)
    found = estimates.estimated(program, "npu")
    assert found.peak_allocated == pytest.approx(allocated, rel=0.03)
    # A segment more or less is more than 3 % of what so small a program reserves.
    assert found.peak_reserved == pytest.approx(reserved, rel=0.03, abs=SEGMENT)
    assert sum(found.at_peak.values()) <= found.peak_allocated


@pytest.mark.parametrize("program", estimate_programs.programs(), ids=lambda each: each.name)
def test_an_estimate_is_the_peak_of_the_program_on_the_host(program):
    assert estimates.estimated(program, "cpu").peak_allocated == pytest.approx(
        estimates.on_host(program), rel=0.03
    )


# What PyTorch 2.11 reserved on an H200 (benchmarks/estimates_on_cuda.py measure).
ON_AN_H200 = json.loads((Path(__file__).parent / "data" / "pytorch_h200_training.json").read_text())


@pytest.mark.parametrize("program", estimate_programs.programs(), ids=lambda each: each.name)
def test_an_estimate_for_cuda_is_what_pytorch_reserves_there(program):
    measured = ON_AN_H200["programs"][program.name]
    found = estimate(
        lambda: estimate_programs.build(torch, program.model, ON_AN_H200["scale"]),
        optimizer=program.optimizer,
        checkpointing=program.checkpointing,
        autocast="bfloat16" if program.autocast else "",
        device="cuda",
    )
    assert found.peak_reserved == pytest.approx(measured["max_reserved"], rel=0.05)


def test_gradients_of_a_recurrent_layer_on_cuda_are_parts_of_one_buffer():
    def steps(keep):
        layer = torch.nn.LSTM(256, 256, device="meta")
        layer(torch.empty(16, 8, 256, device="meta"))[0].sum().backward()
        kept = [each.grad for each in layer.parameters()][keep]
        layer.zero_grad()
        torch.empty(
            64 << 20, dtype=torch.uint8, device="meta"
        )  # the peak, where only what is kept lives beside
        return kept

    none, one, all_of_them = (
        peak_of(lambda keep=keep: steps(keep), device="cuda").peak_allocated
        for keep in (slice(0), slice(1), slice(4))
    )
    numbers = 4 * 256 * (256 + 256 + 2)
    assert one == all_of_them == pytest.approx(none + 4 * numbers, abs=1024)


def test_sums_over_many_rows_have_a_buffer_on_cuda():
    sizes = [
        reduction_buffer(outputs, inputs, False, Gpu()) for outputs, inputs in ((4096, 8192), (3072, 4096))
    ]
    assert sizes == [138_412_032, 100_663_296]
    assert reduction_buffer(4096, 16, False, Gpu()) == 0


def test_what_stands_for_pytorch_on_cuda_goes_away_again():
    before = torch.nn.functional.scaled_dot_product_attention, torch.dropout
    with pytest.raises(ZeroDivisionError):
        peak_of(lambda: 1 / 0, device="cuda")
    assert (torch.nn.functional.scaled_dot_product_attention, torch.dropout) == before
    with pytest.warns(UserWarning, match="CUDA is not available"):
        torch.autocast("cuda")


def mlp(batch=64):
    return estimate_programs.build(torch, "MLP", "small", batch)


def test_the_largest_batch_fits_and_the_next_does_not():
    found = estimate(mlp, batch="auto", capacity="16MiB", optimizer="sgd")
    assert found.fits and found.batch > 64
    more = estimate(mlp, batch=found.batch + 1, capacity="16MiB", optimizer="sgd")
    assert not more.fits and "out of memory" in more.failure


def test_a_model_that_is_too_large_for_one_sample_does_not_fit():
    found = estimate(mlp, batch="auto", capacity="2MiB")
    assert (found.batch, found.fits) == (1, False)


def test_cards_that_share_parameters_need_less_each():
    alone = estimate(mlp, batch=8, optimizer="adam")
    first, last = (
        estimate(mlp, batch=8, optimizer="adam", cards=4, rank=rank, way="fsdp") for rank in (0, 3)
    )
    assert first.at_peak["optimizer"] < alone.at_peak["optimizer"] / 2
    assert (last.rank, last.cards) == (3, 4) and last.peak_allocated < alone.peak_allocated


def test_settings_of_the_allocator_change_what_is_reserved():
    program = estimate_programs.Program("GPT", "adam", False, False)
    usual, growing = (estimates.estimated(program, "npu", conf) for conf in ("", "large_segment_size_mb:64"))
    assert usual.peak_allocated == growing.peak_allocated
    assert usual.peak_reserved != growing.peak_reserved


def test_any_program_on_meta_has_a_peak():
    def program():
        first = torch.empty(1 << 20, device="meta")
        del first
        second = torch.empty(3 << 20, device="meta")
        return second.sum()

    found = peak_of(program, capacity="8MiB")
    assert found.peak_allocated == (12 << 20) + 512 and not found.fits
    assert peak_of(program, device="cpu").peak_allocated == (12 << 20) + 4


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"batch": "auto"}, "give one, such as '32GiB'"),
        ({"batch": 0}, "expected a positive number"),
        ({"optimizer": "lion"}, "expected one of 'adamw'"),
        ({"autocast": "int8"}, "autocast is 'int8'"),
        ({"rank": 4, "cards": 2}, "rank is 4, expected one of 0 to 1"),
        ({"conf": "no_such_key:1"}, "unknown key"),
    ],
)
def test_what_cannot_be_estimated_is_a_clear_error(wrong, says):
    with pytest.raises(ValueError, match=says):
        estimate(mlp, **wrong)


def test_the_command_says_what_a_model_of_a_file_needs(capsys, tmp_path):
    file = tmp_path / "model.py"
    file.write_text(
        "import mindtorch_v2 as torch\n"
        "def model(batch=2):\n"
        "    return torch.nn.Linear(512, 512), torch.randn(batch, 512)\n"
        "def fixed():\n"
        "    return torch.nn.Linear(512, 512), torch.randn(2, 512)\n"
    )
    assert _cli.main(["memory", "estimate", f"{file}:model", "--batch", "auto", "--capacity", "32MiB"]) == 0
    assert "fits into 32.00 MiB" in capsys.readouterr().out
    assert _cli.main(["memory", "estimate", f"{file}:fixed", "--capacity", "1MiB", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert found["at_peak"]["optimizer"] > found["at_peak"]["gradients"] >= 512 * 512 * 4
    assert _cli.main(["memory", "estimate", f"{file}:fixed", "--batch", "4"]) == 2
    assert "takes no argument called batch" in capsys.readouterr().err


class Bags(torch.nn.Module):
    """A recommender: most of it is one table, of which a step reads some rows."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.EmbeddingBag(2000, 32, mode="mean")
        self.head = torch.nn.Linear(32, 1)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.head(self.table(rows)).square().mean()


class Labels(torch.nn.Module):
    """Speech: a loss that autocast computes in float32, composed of operators."""

    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(40, 64), torch.nn.Softplus(), torch.nn.Linear(64, 30))

    def forward(self, sound: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        found = self.net(sound).log_softmax(-1).to(torch.get_autocast_dtype("cpu")).transpose(0, 1)
        return torch.nn.functional.ctc_loss(found, words, [50] * len(sound), [10] * len(sound))


@pytest.mark.parametrize(
    ("build", "autocast"),
    [
        (lambda: (Bags(), (torch.ones(64, 10, dtype=torch.int64),)), False),
        (lambda: (Labels(), (torch.ones(8, 50, 40), torch.ones(8, 10, dtype=torch.int64))), True),
    ],
    ids=["bags", "labels"],
)
def test_an_estimate_has_what_functions_do_that_look_at_values(build, autocast, monkeypatch):
    found = estimate(build, optimizer="adam", autocast="bfloat16" if autocast else "", device="cpu")
    monkeypatch.setattr(estimate_programs, "build", lambda *_: build())
    program = estimate_programs.Program("given", "adam", False, autocast)
    assert found.peak_allocated == pytest.approx(estimates.on_host(program), rel=0.03)
