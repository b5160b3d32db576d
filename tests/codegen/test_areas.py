"""The parts of a row lie in the files that are named like its file of the table."""

import shutil
from pathlib import Path

from small_tables import load_table
from tools.areas import FOLDERS, misplaced

ROOT = Path(__file__).resolve().parents[2]


def test_rules_and_cells_lie_in_the_file_of_their_area():
    assert misplaced(load_table()) == []


def test_a_function_in_another_areas_file_is_found(tmp_path):
    for folder in FOLDERS.values():
        shutil.copytree(ROOT / folder, tmp_path / folder)
    rules, composites = tmp_path / "csrc/infer", tmp_path / "csrc/ops/composites"
    (rules / "softmax.cpp").rename(rules / "attention.cpp")
    (composites / "padding.cpp").rename(composites / "shape.cpp")
    problems = misplaced(
        [row for row in load_table() if row.name in ("_softmax", "reflection_pad1d")], tmp_path
    )
    assert [problem.partition(": ")[2] for problem in problems] == [
        "reflection_pad1d: composites: reflection_pad1d is in shape, wanted in csrc/ops/composites/padding.cpp",
        "_softmax: infer: softmax is in attention, wanted in csrc/infer/softmax.cpp",
    ]
