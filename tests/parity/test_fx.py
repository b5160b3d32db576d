"""torch.fx: the same graphs, code, names, errors and files as PyTorch's."""

import importlib
import io
import pickle
import warnings

import pytest

import mindtorch_v2

torch = importlib.import_module("torch")
importlib.import_module("torch.fx.passes.shape_prop")
importlib.import_module("torch.fx.passes.split_module")
importlib.import_module("torch.fx.operator_schemas")

from fx_cases import EXPRESSIONS  # noqa: E402

LIBRARIES = (torch, mindtorch_v2)


def _both(make):
    """What a function of the library gives for PyTorch and for ours; an error counts as its kind and text."""
    found = []
    for library in LIBRARIES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found.append(make(library))
            except Exception as error:  # noqa: BLE001 - whatever it is, both must give it
                found.append((type(error).__name__, str(error).replace("mindtorch_v2", "torch")))
    return found


def _module_of(library, expression):
    class Holder(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("t", library.ones(2, 2))

    names = {"torch": library, "nn": library.nn, "F": library.nn.functional}
    Holder.forward = eval(f"lambda self, x: (lambda t: {expression})(self.t)", names)
    return Holder()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_becomes_the_same_graph(expression):
    def trace(library):
        traced = library.fx.symbolic_trace(_module_of(library, expression))
        return traced.code, str(traced.graph)

    theirs, ours = _both(trace)
    assert ours == theirs


def _networks(library):
    nn, F = library.nn, library.nn.functional

    class Block(nn.Module):
        def __init__(self, wide):
            super().__init__()
            self.first, self.norm = nn.Conv2d(wide, wide, 3, padding=1), nn.BatchNorm2d(wide)
            self.down = nn.Sequential(nn.Conv2d(wide, wide, 1), nn.BatchNorm2d(wide))

        def forward(self, x):
            y = F.relu(self.norm(self.first(x)), inplace=True)
            y += self.down(x)
            return y

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Block(2), Block(2)])
            self.head = nn.Linear(2, 3)

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return self.head(library.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out, self.norm = nn.Linear(4, 12), nn.Linear(4, 4), nn.LayerNorm(4)

        def forward(self, x):
            batch, length, wide = x.shape
            q, k, v = self.qkv(self.norm(x)).split(wide, dim=-1)
            q, k, v = (z.view(batch, length, 2, wide // 2).transpose(1, 2) for z in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + self.out(y.transpose(1, 2).reshape(batch, length, wide))

    return {"residual": (Residual(), (1, 2, 4, 4)), "attention": (Attention(), (2, 3, 4))}


@pytest.mark.parametrize("name", ["residual", "attention"])
def test_a_network_has_the_same_code_and_survives_pickling(name):
    found = []
    for library in LIBRARIES:
        network, shape = _networks(library)[name]
        network.eval()
        traced = library.fx.symbolic_trace(network)
        x = library.randn(*shape)
        loaded = pickle.loads(pickle.dumps(traced))
        assert library.equal(traced(x), network(x)) and library.equal(loaded(x), network(x))
        assert loaded.code == traced.code and library.equal(library.fx.Interpreter(traced).run(x), network(x))
        found.append((traced.code, str(traced.graph), str(traced), traced.print_readable(print_output=False)))
    assert found[1] == found[0]


def test_a_traced_module_saved_by_pytorch_runs_here():
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    traced = torch.fx.symbolic_trace(network)
    file = io.BytesIO()
    torch.save(traced, file)
    file.seek(0)
    loaded = mindtorch_v2.load(file, weights_only=False)
    assert loaded.code == traced.code
    x = torch.randn(2, 3)
    mindtorch_v2.testing.assert_close(loaded(mindtorch_v2.tensor(x.tolist())).tolist(), network(x).tolist())


def _annotated(library):
    from collections.abc import Callable
    from typing import Dict, List, Optional, Tuple, Union  # noqa: UP035

    def function(
        a: Dict[str, library.Tensor],  # noqa: UP006
        b: Optional[List[int]] = None,  # noqa: UP006,UP045
        c: Tuple[int, ...] = 4,  # noqa: UP006
        d: Union[int, str] = 1,  # noqa: UP007
        e: Callable = None,
        f: "library.Tensor" = 2,
        g: int | None = None,
        h: library.nn.Module = None,
    ) -> Tuple[library.Tensor, int]:  # noqa: UP006
        return a["x"], 1

    return function


def _starred(x, /, y, *args, z=3, **kwargs):
    return x + y + z


_PROGRAMS = {
    "annotations": lambda lib: lib.fx.symbolic_trace(_annotated(lib)).code.replace("mindtorch_v2", "torch"),
    "stars": lambda lib: lib.fx.symbolic_trace(_starred).code,
    "concrete flag": lambda lib: lib.fx.symbolic_trace(lambda x, y: x + 1 if y else x, {"y": True}).code,
    "concrete None": lambda lib: lib.fx.symbolic_trace(lambda x, y: x if y is None else y, {"y": None}).code,
    "nested inputs": lambda lib: lib.fx.symbolic_trace(
        lambda x, y: {"o": x["a"] + y["b"][0]}, {"x": {"a": lib.fx.PH}, "y": {"b": [lib.fx.PH, 3]}}
    ).code,
    "control flow": lambda lib: lib.fx.symbolic_trace(lambda x: x if x else 1),
    "a loop": lambda lib: lib.fx.symbolic_trace(lambda x: [y for y in x]),
    "length": lambda lib: lib.fx.symbolic_trace(lambda x: len(x)),
    "a key": lambda lib: lib.fx.symbolic_trace(lambda x: {x: 1}),
    "a module that is nobody's": lambda lib: lib.fx.symbolic_trace(lambda x: lib.nn.Linear(2, 2)(x)),
    "too few concrete": lambda lib: lib.fx.Tracer().trace(lambda x, y: x, concrete_args=(3,)),
    "names": lambda lib: lib.fx.symbolic_trace(lambda input, list, Tensor, add: input + list + Tensor + add).code,
    "math": lambda lib: lib.fx.symbolic_trace(lambda x: __import__("math").sqrt(x)).code,
    "layers": lambda lib: [
        lib.fx.symbolic_trace(layer).code
        for layer in (lib.nn.Linear(2, 2), lib.nn.ReLU(), lib.nn.LayerNorm(3), lib.nn.Conv2d(1, 1, 1))
    ],
    "replaced": lambda lib: _replaced(lib),
    "transformed": lambda lib: (
        lib.fx.Transformer(lib.fx.symbolic_trace(lambda x, *, y=2: lib.relu(x) + y)).transform().code
    ),
    "erasing": lambda lib: _erased(lib),
    "dead code": lambda lib: _dead(lib),
    "split": lambda lib: _split(lib),
    "normalised": lambda lib: lib.fx.operator_schemas.normalize_function(
        lib.nn.functional.max_pool2d, (1, 2), normalize_to_only_use_kwargs=True
    ),
}  # fmt: skip


def _replaced(lib):
    traced = lib.fx.symbolic_trace(lambda x: lib.neg(lib.relu(x)) + lib.neg(lib.relu(x + 1)))
    found = lib.fx.replace_pattern(traced, lambda x: lib.neg(lib.relu(x)), lambda x: lib.abs(x))
    return traced.code, [(str(f.anchor), str(f.nodes_map)) for f in found]


def _erased(lib):
    graph = lib.fx.symbolic_trace(lambda x: x + 1).graph
    graph.erase_node(next(iter(graph.nodes)))


def _dead(lib):
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    for function, args in (
        (lib.add, (x, x)), (lib._assert, (x, "a")), (lib.rand, (3,)), (lib.relu_, (x,)), (lib.dropout, (x, 0.5, True)),
    ):  # fmt: skip
        graph.call_function(function, args)
    graph.output(x)
    return graph.eliminate_dead_code(), str(graph)


def _split(lib):
    module = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ReLU(), lib.nn.Linear(2, 2))
    traced = lib.fx.symbolic_trace(module)
    from importlib import import_module

    split = import_module(f"{lib.__name__}.fx.passes.split_module").split_module
    parts = split(traced, module, lambda node: int(node.target != "0"))
    whole = split(traced.eval(), None, lambda node: 0)  # the module that was traced need not be there
    modes = [part.training for part in whole.modules()]
    return str(parts), parts.submod_0.code, parts.submod_1.code, whole.code, modes


@pytest.mark.parametrize("name", _PROGRAMS)
def test_a_program_gives_the_same_text_or_error(name):
    theirs, ours = _both(_PROGRAMS[name])
    assert ours == theirs


def test_shapes_are_the_same():
    def shapes(library):
        prop = importlib.import_module(f"{library.__name__}.fx.passes.shape_prop").ShapeProp
        traced = library.fx.symbolic_trace(
            library.nn.Sequential(library.nn.Conv2d(1, 2, 3), library.nn.ReLU())
        )
        prop(traced).propagate(library.ones(1, 1, 4, 4))
        return [str(n.meta["tensor_meta"]) for n in traced.graph.nodes], traced.print_readable(
            print_output=False
        )

    theirs, ours = _both(shapes)
    assert ours == theirs
