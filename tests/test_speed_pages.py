"""The pages of speed in docs/, drawn from what benchmarks measured."""

import importlib
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def benchmark():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield importlib.import_module
    sys.path.remove(str(ROOT / "benchmarks"))


def test_the_picture_of_threads_has_both_libraries_and_says_how_much_faster(benchmark):
    times = {
        "a < b": {"torch": [8.0, 4.0, 2.0], "mindtorch_v2": [9.0, 3.0, 1.0]},
        "c": {"torch": [1.0, 1.0, 1.0], "mindtorch_v2": [2.0, 2.0, 2.0]},
    }
    picture = ElementTree.fromstring(benchmark("scaling").draw([1, 2, 4], times, "a machine & its cores"))
    texts = ["".join(node.itertext()) for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a < b", "9.0 times as fast with 4; PyTorch 4.0", "a machine & its cores"} <= set(texts)
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}polyline"))) == 4


@pytest.mark.parametrize("kept", sorted((ROOT / "docs").glob("map_*.json")), ids=lambda path: path.stem)
def test_every_slow_case_of_a_kept_map_says_why(benchmark, kept):
    reasons = benchmark("map_reasons")
    slow = [c for c in json.loads(kept.read_text())["cases"].values() if c["ratio"] > reasons.LIMIT]
    unknown = [f"{c['row']}: {c['case']}" for c in slow if reasons.reason_for(c["row"], c["case"]) is None]
    assert not unknown, "give these a reason in benchmarks/map_reasons.py, or make them faster"


def test_the_page_of_a_map_has_reasons_for_slow_cases_only(benchmark):
    case = {"area": "unary", "row": "erfc", "case": "erfc 4M float32", "threads": 2, "theirs_us": 1.0}
    cases = [{**case, "ours_us": 2.0, "ratio": 2.0}, {**case, "ours_us": 1.2, "ratio": 1.2}]
    kept = {"machine": "a machine", "versions": {"torch": "2.13.0"}}
    lines = benchmark("map_page").table(kept, cases, [("The map", "map.svg")]).splitlines()
    why = benchmark("map_reasons").reason_for("erfc", "erfc 4M float32")
    assert [line.split(" | ")[-1] for line in lines if "erfc" in line] == [f"{why} |", " |"]
