"""What ``__torch_dispatch__`` is given: PyTorch's operators with PyTorch's schemas; and what is built on it."""

import re
from pathlib import Path

import pytest
import torch
from opinfo_bridge import OPS, Translator, translated
from opinfo_checks import (
    both,
    compare_gradients,
    compare_results,
    has_gradient,
    is_drawn,
    main_dtype,
    quiet,
    samples_of,
)
from torch._subclasses.fake_tensor import FakeTensorMode as TheirFakeMode
from torch.fx.experimental.proxy_tensor import make_fx as their_make_fx
from torch.utils.flop_counter import FlopCounterMode as TheirCounter

import mindtorch_v2 as mt
from mindtorch_v2._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode
from mindtorch_v2.utils._pytree import tree_leaves, tree_map
from mindtorch_v2.utils.flop_counter import FlopCounterMode

# An order of rows, for which PyTorch's kernel has no name of its own; and one conversion between all layouts.
_OWN = {"aten._row_order.default", "aten._to_layout.default"}
# Without samples that both libraries have.
_EMPTY = {"sparse.mm.reduce", "sparse.sampled_addmm", "torch._scaled_mm", "torch._scaled_mm_v2"}
# What test_opinfo.py knows to be wrong without handlers.
_HOLES = {
    line.partition(" ")[0].partition("@")[0]
    for line in (Path(__file__).parent / "opinfo_holes.txt").read_text().splitlines()
    if "@tangent" not in line
}


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.operators = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.operators[str(func)] = func
        return func(*args, **(kwargs or {}))


def _theirs(name):
    namespace, operator, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), operator), overload)


def _names(schema):
    return [argument.name for argument in schema.arguments]


def _check_known(operators):
    for name, operator in operators.items():
        if name in _OWN:
            continue
        theirs = _theirs(name)
        mine, wanted = _names(operator._schema), _names(theirs._schema)
        # Options of factories, and what only PyTorch's C++ has, may be missing.
        assert [each for each in wanted if each in mine] == [each for each in mine if each in wanted] or (
            set(mine) <= {*wanted, "generator"}
        ), f"{name}: {operator._schema} is {theirs._schema} in PyTorch"


@pytest.mark.parametrize("name", sorted(OPS.keys() - _EMPTY - _HOLES))
def test_handlers_see_pytorchs_operators_and_get_the_same_results(name):
    op = OPS[name]
    grad = has_gradient(op)
    with quiet(), Seen() as seen:
        for number, sample in samples_of(op, main_dtype(op), 2, grad=grad):
            wanted, got, mine = both(op, sample)
            if not is_drawn(op, "cpu"):
                compare_results(op, sample, wanted, got, f"sample {number}")
            if grad:
                compare_gradients(op, sample, wanted, got, mine, f"gradient of sample {number}")
    _check_known(seen.operators)


# Interpolation of planes in channels_last order: the parts that handlers see forget it.
_OTHER_STRIDES = {"nn.functional.max_unpool2d.grad"}


@pytest.mark.parametrize("name", sorted(OPS.keys() - _EMPTY - _HOLES - _OTHER_STRIDES))
def test_fake_results_are_like_real_ones(name):
    op = OPS[name]
    function = translated(op, mt)
    with quiet():
        for _, sample in samples_of(op, main_dtype(op), 2):
            given = (sample.input, sample.args, sample.kwargs)
            first, args, kwargs = Translator(mt, "cpu")(given)
            real = function(first, *args, **kwargs)
            mode = FakeTensorMode()
            fakes = tree_map(
                lambda t, mode=mode: mode.from_tensor(t) if isinstance(t, mt.Tensor) else t,
                Translator(mt, "cpu")(given),
            )
            try:
                with mode:
                    fake = function(fakes[0], *fakes[1], **fakes[2])
            except (DataDependentOutputException, DynamicOutputShapeException):
                continue
            for r, f in zip(tree_leaves(real), tree_leaves(fake), strict=True):
                if isinstance(r, mt.Tensor):
                    assert isinstance(f, FakeTensor)
                    assert (f.shape, f.dtype, f.device) == (r.shape, r.dtype, r.device)
                    assert r.numel() == 0 or f.stride() == r.stride()


# ---- models --------------------------------------------------------------------------------------


def _mlp(lib):
    nn = lib.nn
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)), lib.ones(5, 8)


def _images(lib):
    nn = lib.nn
    layers = [
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2, groups=2),
        nn.ConvTranspose2d(8, 4, 2, stride=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 4),
    ]  # fmt: skip
    return nn.Sequential(*layers), lib.ones(2, 3, 12, 12)


def _block(lib):
    class Block(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = lib.nn.MultiheadAttention(16, 2, batch_first=True)
            self.feed = lib.nn.Sequential(lib.nn.Linear(16, 32), lib.nn.ReLU(), lib.nn.Linear(32, 16))

        def forward(self, x):
            return self.feed(self.attention(x, x, x, need_weights=False)[0])

    return Block(), lib.ones(2, 5, 16)


def _counts(lib, counter, make):
    model, data = make(lib)
    with counter(display=False) as found:
        model(data).sum().backward()
    return {
        module: {str(op): count for op, count in counts.items()}
        for module, counts in found.get_flop_counts().items()
    }


@pytest.mark.parametrize("make", [_mlp, _images])
def test_flops_by_module_are_pytorchs(make):
    assert _counts(mt, FlopCounterMode, make) == _counts(torch, TheirCounter, make)


@pytest.mark.parametrize("make", [_mlp, _images, _block])
def test_all_flops_of_a_model_are_pytorchs(make):
    mine, theirs = _counts(mt, FlopCounterMode, make), _counts(torch, TheirCounter, make)
    assert sum(mine["Global"].values()) == sum(theirs["Global"].values())


@pytest.mark.parametrize("make", [_mlp, _images, _block])
def test_a_model_has_pytorchs_shapes_and_gradients_without_values(make):
    shapes = []
    for lib, mode in ((torch, TheirFakeMode), (mt, FakeTensorMode)):
        with mode():
            model, data = make(lib)
            result = model(data)
            result.sum().backward()
        values = [result, *(p for p in model.parameters()), *(p.grad for p in model.parameters())]
        shapes.append([(tuple(v.shape), str(v.dtype), v.stride(), repr(v)[:20]) for v in values])
    assert shapes[0] == shapes[1]


# ---- graphs --------------------------------------------------------------------------------------


def _same(lib):
    def several(x, y):
        values, places = x.sort(-1)
        return {"a": (values * y).sum(-1), "b": [places, x.t()]}

    def written(x, y):
        x = x.clone()
        x.add_(y)
        x[0].mul_(2.0)
        return x.mean()

    def gradient(x, y):
        return lib.autograd.grad((lib.tanh(x) * y).sum(), y)[0]

    def views(x, y):
        first, second = x.split(2, 1)[:2]
        return lib.cat([first, second], 1).view(-1)[1:].unsqueeze(0).expand(2, -1) + y.sum()

    def constants(x, y):
        return x * lib.tensor([1.0, 2.0, 3.0, 4.0]) + lib.zeros(4)

    return {f.__name__: f for f in (several, written, gradient, views, constants)}


def _plain(code):
    """Without the options of factories that PyTorch's parser fills in."""
    code = re.sub(r", (device|pin_memory|memory_format) = (device\(type='cpu'\)|False|torch\.\w+)", "", code)
    return code.replace(", 9223372036854775807)", ")").strip()  # an end that is left out


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("name", list(_same(mt)))
def test_traced_code_is_pytorchs(name, mode):
    codes, results = [], []
    for lib, trace in ((torch, their_make_fx), (mt, make_fx)):
        x, y = lib.arange(12.0).reshape(3, 4), lib.ones(3, 4, requires_grad=name == "gradient")
        traced = trace(_same(lib)[name], tracing_mode=mode)(x, y)
        codes.append(_plain(traced.code))
        results.append(traced(x * 2, y))
    assert codes[0] == codes[1]
    leaves = [[t.tolist() for t in tree_leaves(result)] for result in results]
    assert leaves[0] == leaves[1]
