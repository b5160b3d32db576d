"""Snapshots of the NPU's memory open in PyTorch's own tools (torch.cuda._memory_viz)."""

import pickle
import runpy
import warnings

import pytest
from torch.cuda import _memory_viz

import mindtorch_v2 as mt


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    """What a training step leaves behind, written to a file and read again."""
    path = tmp_path_factory.mktemp("snapshot") / "snapshot.pickle"
    mt.npu._record_memory_history(clear_history=True)
    try:
        model = mt.nn.Sequential(mt.nn.Linear(64, 256), mt.nn.ReLU(), mt.nn.Linear(256, 64)).to("npu")
        pool = mt.npu.MemPool()
        with mt.npu.use_mem_pool(pool):
            x = mt.randn(128, 64).to("npu")
        side = mt.npu.Stream()
        for _ in range(2):
            loss = (model(x) - x).square().mean()
            loss.backward()
        x.record_stream(side)
        kept = mt.empty(30 << 20, dtype=mt.uint8, device="npu")
        mt.npu._dump_snapshot(str(path))
        del kept
    finally:
        mt.npu._record_memory_history(None)
    return pickle.loads(path.read_bytes())


def test_trace_plot_and_segment_plot_draw_it(snapshot):
    for plot in (_memory_viz.trace_plot, _memory_viz.segment_plot):
        page = plot(snapshot)
        assert "<html" in page.lower() or "<!doctype" in page.lower()
        assert len(page) > 10_000


def test_stats_and_trace_read_it(snapshot):
    assert "segments" in _memory_viz.segsum(snapshot)
    text = _memory_viz.trace(snapshot)
    assert "= cudaMalloc(" in text and f"{len(snapshot['device_traces'][0])} entries" in text


def test_the_command_line_tool_runs_on_the_file(snapshot, tmp_path, capsys, monkeypatch):
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(snapshot, protocol=4))
    monkeypatch.setattr("sys.argv", ["_memory_viz", "stats", str(path)])
    output = tmp_path / "plot.html"
    # It is imported already, as part of this module; running it once more is what is wanted.
    warnings.simplefilter("ignore", RuntimeWarning)
    runpy.run_module("torch.cuda._memory_viz", run_name="__main__")
    assert "reserved" in capsys.readouterr().out
    for command in ("trace_plot", "segment_plot"):
        monkeypatch.setattr("sys.argv", ["_memory_viz", command, str(path), "-o", str(output)])
        runpy.run_module("torch.cuda._memory_viz", run_name="__main__")
        assert output.stat().st_size > 10_000


def test_the_history_replays_to_the_final_state(snapshot):
    """What the viewer does: allocations and completed frees, in order, leave the blocks that are live."""
    live = {}
    for entry in snapshot["device_traces"][0]:
        if entry["action"] == "alloc":
            live[entry["addr"]] = entry["size"]
        elif entry["action"] == "free_completed":
            live.pop(entry["addr"], None)
    blocks = {
        block["address"]: block["requested_size"]
        for segment in snapshot["segments"]
        for block in segment["blocks"]
        if block["state"] != "inactive"
    }
    assert live.items() <= blocks.items()


def test_every_block_tiles_its_segment_and_pools_are_told_apart(snapshot):
    for segment in snapshot["segments"]:
        address = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == address
            address += block["size"]
        assert address == segment["address"] + segment["total_size"]
    assert len({segment["segment_pool_id"] for segment in snapshot["segments"]}) == 2
