"""The picture and the table of docs/cuda.md, drawn from what was measured. No GPU is needed."""

import importlib
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = {
    "machine": "a GPU & its host",
    "cases": [
        {"group": "host <small>", "case": "a + b", "ratio": 0.39},
        {"group": "host <small>", "case": "m[1]", "ratio": 0.0001},
        {"group": "attention", "case": "8 × 12, backward", "ratio": 314.0, "ours_us": 3.0, "theirs_us": 1.0},
        {"group": "attention", "case": "8 × 12, forward", "ratio": 1.0},
    ],
}


@pytest.fixture(scope="module")
def ratios():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return importlib.import_module("cuda_ratios")
    finally:
        sys.path.pop(0)


def test_a_picture_is_well_formed_and_has_every_group_case_and_ratio_inside_its_edges(ratios):
    root = ElementTree.fromstring(ratios.draw(KEPT))
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    for c in KEPT["cases"]:
        assert c["case"] in texts
        assert c["group"] in texts
        assert f"{c['ratio']:.2f}" in texts
    for bar in root.iter("{http://www.w3.org/2000/svg}rect"):
        left, width = float(bar.get("x", 0)), float(bar.get("width"))
        assert left >= 0
        assert left + width <= float(root.get("width"))


def test_the_page_has_the_table_and_the_picture_of_the_ratios_that_are_kept(ratios):
    kept = json.loads((ROOT / "docs" / "cuda_ratios.json").read_text("utf-8"))
    page = (ROOT / "docs" / "cuda.md").read_text("utf-8")
    assert ratios.with_table(page, ratios.table(kept)) == page
    assert (ROOT / "docs" / "cuda_ratios.svg").read_text("utf-8") == ratios.draw(kept)


def test_a_table_replaces_the_one_before_it_and_nothing_else(ratios):
    page = f"before\n{ratios.BEGIN}\nold\n{ratios.END}\nafter\n"
    assert ratios.with_table(page, "| new |") == f"before\n{ratios.BEGIN}\n| new |\n{ratios.END}\nafter\n"


def test_medians_over_rounds_make_the_ratio(ratios, monkeypatch):
    times = {"torch": iter((4.0, 2.0, 8.0)), "mindtorch_v2": iter((1.0, 100.0, 2.0))}

    def one_run(module, only, label):
        return {"machine": "G", "version": "2"}, [{"group": "g", "case": "c", "us": next(times[module])}]

    monkeypatch.setattr(ratios, "one_run", one_run)
    made = ratios.measure(3, [])["cases"]
    assert made == [{"group": "g", "case": "c", "ratio": 0.5, "ours_us": 2.0, "theirs_us": 4.0}]
