"""torch_npu's recurrent layers: aclnnLSTM and aclnnGRU, and the old operators for what those do not take."""

from typing import Any

import pytest
from made_once import made_once

pytestmark = pytest.mark.timeout(300)  # one process makes the results, the others wait
Result = dict[str, Any]

TWICE = "num_layers=2, bidirectional=True"

LAYERS = [
    *(f"layer('{kind}')" for kind in ("LSTM", "GRU", "RNN")),
    *(f"layer('{kind}', states=True, {TWICE}, batch_first=True)" for kind in ("LSTM", "GRU", "RNN")),
    *(f"layer('{kind}', num_layers=3, bias=False)" for kind in ("LSTM", "GRU")),
    *(f"cell('{kind}')" for kind in ("LSTMCell", "GRUCell", "RNNCell")),
    "cell('LSTMCell', bias=False)",
    *("packed()", f"packed({TWICE})", "packed(num_layers=2)", "packed(bidirectional=True, bias=False)"),
]
# The last take the old interface.
HALVES = [
    f"layer('{kind}', torch.{dtype}, states=True, {TWICE})"
    for dtype in ("float16", "bfloat16")
    for kind in ("LSTM", "GRU")
]
TRAININGS = ["training('LSTM')", f"training('LSTM', {TWICE})", f"training('GRU', {TWICE})", "training('RNN')"]
# aclnnLSTM and aclnnGRU take dropout and do not drop.
DROPPING = {f"layer('{kind}', {TWICE}, dropout=0.5)": f"layer('{kind}', {TWICE})" for kind in ("LSTM", "GRU")}


@pytest.fixture(scope="module")
def both(run_on_both, tmp_path_factory) -> tuple[Result, Result]:
    """Everything in one process on each device."""
    cases = [*LAYERS, *HALVES, *TRAININGS, *DROPPING, *DROPPING.values()]
    return made_once(tmp_path_factory, "recurrent_layers", lambda: run_on_both("recurrent", *cases))


def assert_close(got: Any, wanted: Any, tolerance: float) -> None:
    assert got.keys() == wanted.keys()
    for name, values in wanted.items():
        assert len(got[name]) == len(values) > 0
        for ours, theirs in zip(got[name], values, strict=True):
            assert ours == pytest.approx(theirs, rel=tolerance, abs=tolerance), name


@pytest.mark.parametrize("case", LAYERS)
def test_results_and_gradients_are_those_of_the_cpu(both: tuple[Result, Result], case: str) -> None:
    assert_close(both[0][case], both[1][case], 1e-4)


@pytest.mark.parametrize("case", HALVES)
def test_half_precision_is_that_of_the_cpu(both: tuple[Result, Result], case: str) -> None:
    assert_close(both[0][case], both[1][case], 0.1 if "bfloat16" in case else 0.02)


@pytest.mark.parametrize("case", TRAININGS)
def test_a_network_with_it_trains_as_on_the_cpu(both: tuple[Result, Result], case: str) -> None:
    assert_close(both[0][case], both[1][case], 1e-3)
    losses = both[0][case]["losses"]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("case", DROPPING)
def test_dropout_between_layers_has_no_effect_as_on_the_card(both: tuple[Result, Result], case: str) -> None:
    assert_close(both[0][case], both[1][DROPPING[case]], 1e-4)
