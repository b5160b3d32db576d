"""PyTorch's own tool reads our files of a flight recorder."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "distributed"))
import worlds

STOPS = """
dist.broadcast(torch.ones(2), 0)
if rank == 0:
    print(error_of(lambda: dist.all_reduce(torch.ones(3, 4))))
    dist.get_backend()
    open(os.environ["END"], "w")
else:
    while not os.path.exists(os.environ["END"]):
        time.sleep(0.05)
"""


def test_pytorchs_tool_finds_the_rank_that_is_missing_in_our_files(tmp_path):
    files = tmp_path / "files"
    worlds.run(STOPS, 2, seconds=3, END=str(tmp_path / "end"), TORCH_FR_DUMP_TEMP_FILE=str(files / "rank_"))
    command = [sys.executable, "-m", "torch.distributed.flight_recorder.fr_trace", str(files), "-p", "rank_"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said
    assert "Not all ranks joining collective, sequence number: 2" in said, said
    assert "collective: gloo:all_reduce" in said and "missing ranks: {1}" in said, said
