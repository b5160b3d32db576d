"""The pages of speed in docs/, drawn from what benchmarks measured."""

import importlib
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
