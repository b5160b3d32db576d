"""torch_npu's process group over the software NPU's HCCL: two processes, every kind of collective."""

from pathlib import Path
from typing import Any

import pytest

FIRST, SECOND = [0, 1, 2, 3], [10, 11, 12, 13]
SUM = [10, 12, 14, 16]
REDUCED = {"SUM": SUM, "MAX": SECOND, "MIN": FIRST, "PRODUCT": [0, 11, 24, 39]}
WANTED: dict[str, list[Any]] = {
    **{
        f"all_reduce {op} {dtype}": [result, result]
        for op, result in REDUCED.items()
        for dtype in ("float32", "float16", "int32")
    },
    "broadcast": [SECOND, SECOND],
    "reduce": [[], SUM],
    "all_gather": [[FIRST, SECOND], [FIRST, SECOND]],
    "all_gather_into_tensor": [FIRST + SECOND, FIRST + SECOND],
    "all_gather_of_other_lengths": [[[0], [10, 11, 12]], [[0], [10, 11, 12]]],
    "reduce_scatter": [[10, 12], [14, 16]],
    "reduce_scatter_tensor": [[10, 11], [12, 13]],
    "scatter": [[0, 1], [2, 3]],
    "all_to_all": [[[0, 1], [10, 11]], [[2, 3], [12, 13]]],
    "all_to_all_of_other_lengths": [[0, 10, 11], [1, 2, 3, 12, 13]],
    "send_and_receive": [[0, 2, 4, 6], SECOND],
    "batch": [SECOND, FIRST],
    "subgroup": [FIRST, SECOND],
    "later": [[11, 13, 15, 17], [11, 13, 15, 17]],
    "objects": [[{"rank": 0}, {"rank": 1}], [{"rank": 0}, {"rank": 1}]],
}


@pytest.mark.parametrize("sanitize", [False, True])
def test_every_collective_of_two_processes_has_the_right_result(
    run_program, tmp_path: Path, sanitize: bool
) -> None:
    log = tmp_path / "reports.jsonl"
    environment = {"SOFTNPU_SANITIZE": "1", "SOFTNPU_SANITIZE_LOG": str(log)} if sanitize else {}
    assert run_program("collectives", SOFTNPU_DEVICES="2", **environment) == WANTED
    assert not log.exists() or log.read_text() == ""
