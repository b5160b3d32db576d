"""Sparse tensors against PyTorch: what they print and say, one expression at a time, and where programs differ."""

import copy
import io
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

import mindtorch_v2

TEXT = (Path(__file__).parent / "sparse_expressions.txt").read_text()
EXPRESSIONS = [line for line in TEXT.splitlines() if line and not line.startswith("#")]
NO_OPERATOR = re.compile(r"Could not run '(\S+)' with arguments from the '(\w+)' backend")


def names(library):
    i, v = library.tensor([[0, 1, 1], [2, 0, 2]]), library.tensor([3.0, 4.0, 5.0])
    s = library.sparse_coo_tensor(i, v, (2, 3))
    made = {"torch": library, "T": library.tensor, "i": i, "v": v, "copy": copy}
    return made | {"s": s, "S": s.coalesce(), "c": s.to_sparse_csr(), "d": s.to_dense()}


def outcome(library, expression):
    """The text of the value, or of the error; of operators that are not there, only which one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = repr(eval(expression, names(library)))
        except Exception as error:  # noqa: BLE001 - compared with the other library's
            found = NO_OPERATOR.search(str(error))
            return type(error).__name__, found.groups() if found else str(error)
    return re.sub(r" at 0x\w+", "", text).replace("mindtorch_v2", "torch")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_gives_the_same_text_or_error(expression):
    assert outcome(mindtorch_v2, expression) == outcome(torch, expression)


LAYOUTS = ["coo", "csr", "csc", "bsr", "bsc"]


def in_layout(library, dense, layout):
    if layout == "coo":
        return dense.to_sparse()
    return getattr(dense, f"to_sparse_{layout}")(*([(2, 2)] if layout.startswith("b") else []))


def numbers(*shape, seed=0):
    made = np.random.default_rng(seed).standard_normal(shape).astype("float32")
    return np.where(np.abs(made) < 0.7, 0, made).astype("float32")


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize("source", LAYOUTS)
def test_conversions_between_layouts_have_the_same_parts(source, target, device):
    values = numbers(4, 6)
    texts = []
    for library, where in ((mindtorch_v2, device), (torch, "cpu")):
        try:
            made = in_layout(library, in_layout(library, library.tensor(values).to(where), source), target)
            texts.append(repr(made.cpu()))
        except RuntimeError:
            texts.append(None)
    if texts[1] is None:  # PyTorch has not all of them
        assert np.array_equal(made.to_dense().cpu().numpy() if texts[0] else values, values)
    else:
        assert texts[0] == texts[1]


UNARY = [
    "abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "floor", "frac", "isinf",
    "isnan", "isneginf", "isposinf", "log1p", "neg", "rad2deg", "relu", "round", "sgn", "sign", "signbit", "sin",
    "sinh", "sqrt", "square", "tan", "tanh", "trunc",
]  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("layout", ["uncoalesced", "coo", "csr", "csc", "bsr"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_that_keep_zero_work_on_values(name, layout, device):
    found = []
    for library, where in ((mindtorch_v2, device), (torch, "cpu")):
        x = library.tensor(numbers(4, 6) * 0.4).to(where)
        if layout == "uncoalesced":
            at = library.tensor([[0, 1, 0], [2, 3, 2]]).to(where)
            made = library.sparse_coo_tensor(at, library.tensor([0.25, 0.5, 0.125]).to(where), (4, 6))
        else:
            made = in_layout(library, x, layout)
        try:
            result = getattr(library, name)(made)
        except RuntimeError as error:
            found.append(type(error))
            continue
        assert str(result.layout) == str(made.layout)
        found.append(
            (str(result.dtype)[-8:], np.nan_to_num(result.to_dense().cpu().numpy().astype("float64"), nan=7))
        )
    if isinstance(found[1], type):
        return  # computed here, refused there
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=2e-5, atol=1e-6)


def test_files_of_sparse_tensors_are_read_by_both(tmp_path):
    for writer, reader in ((torch, mindtorch_v2), (mindtorch_v2, torch)):
        x = writer.tensor(numbers(4, 6))
        kept = {layout: in_layout(writer, x, layout) for layout in LAYOUTS}
        writer.save(kept, tmp_path / "kept.pt")
        found = reader.load(tmp_path / "kept.pt", weights_only=True)
        assert {name: repr(value) for name, value in found.items()} == {k: repr(v) for k, v in kept.items()}
        assert not found["coo"].requires_grad and found["coo"].is_coalesced()


def test_a_state_with_a_sparse_tensor_survives_pickle_and_deepcopy():
    x = in_layout(mindtorch_v2, mindtorch_v2.tensor(numbers(4, 6)), "csr")
    buffer = io.BytesIO()
    pickle.dump(x, buffer)
    buffer.seek(0)
    assert repr(pickle.load(buffer)) == repr(copy.deepcopy(x)) == repr(x)


NAMES_WITH_A_SPARSE_ARGUMENT = [
    name
    for name in dir(torch)
    if not name.startswith(("_", "set_", "get_", "init_", "import_", "is_autocast", "autocast", "fork", "wait", "rand"))
    and callable(getattr(torch, name))
    and not isinstance(getattr(torch, name), type)
    and hasattr(mindtorch_v2, name)
    and name
    not in ("compile", "save", "load", "manual_seed", "seed", "typename", "vmap", "cond", "while_loop", "svd_lowrank",
            "pca_lowrank", "lobpcg", "use_deterministic_algorithms", "parse_ir", "parse_schema", "clear_autocast_cache",
            "empty_like", "dropout", "dropout_", "alpha_dropout", "alpha_dropout_", "feature_dropout", "bernoulli",
            "feature_dropout_", "feature_alpha_dropout", "feature_alpha_dropout_", "normal", "kl_div", "poisson",
            "rrelu", "rrelu_")
]  # fmt: skip
FORMS = {
    "f(s)": lambda f, s, d: f(s),
    "f(s, s)": lambda f, s, d: f(s, s.clone()),
    "f(s, d)": lambda f, s, d: f(s, d),
    "f(d, s)": lambda f, s, d: f(d.clone(), s),
    "f(s, 2)": lambda f, s, d: f(s, 2),
    "f(s, 0, 0)": lambda f, s, d: f(s, 0, 0),
    "f([s, s])": lambda f, s, d: f([s, s.clone()]),
}


def close(found, wanted):
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(close, found, wanted))
    if isinstance(wanted, tuple):
        return found[:2] == wanted[:2] and np.allclose(found[2], wanted[2], rtol=1e-4, atol=1e-6)
    return found == wanted


def value_of(library, result):
    """What a result says: numbers and layouts of tensors, the types of the others."""
    if isinstance(result, library.Tensor):
        dense = result.detach().to_dense()
        kind = dense.numpy() if not dense.is_complex() else library.view_as_real(dense).numpy()
        return (
            str(result.layout),
            str(result.dtype).rpartition(".")[2],
            np.nan_to_num(kind.astype("float64"), nan=9),
        )
    if isinstance(result, (tuple, list)):
        return [value_of(library, each) for each in result]
    return type(result).__name__


@pytest.mark.parametrize("layout", ["coo", "csr"])
@pytest.mark.parametrize("name", NAMES_WITH_A_SPARSE_ARGUMENT)
def test_a_function_of_torch_computes_the_same_of_a_sparse_tensor_or_raises(name, layout):
    for form, call in FORMS.items():
        found = []
        for library in (mindtorch_v2, torch):
            d = library.arange(9.0).reshape(3, 3) / 10
            s = in_layout(library, library.tensor([[0, 0.5, 0], [0.25, 0, -0.5], [0, 0, 1]]), layout)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found.append(value_of(library, call(getattr(library, name), s, d)))
            except Exception:  # noqa: BLE001 - a clear error, not a crash, is what is asked for
                found.append(None)
        if None not in found:
            assert close(*found), form
