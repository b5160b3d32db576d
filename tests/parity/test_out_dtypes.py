"""What PyTorch says of an out= of another dtype that it does not cast into, and of dtypes that it does not take."""

import pytest
import torch

import mindtorch_v2


def _square(lib):
    return lib.tensor([[4.0, 1.0], [1.0, 3.0]])


_WITH_OUT = {
    "abs": lambda lib, out: lib.abs(_square(lib), out=out),
    "addmm": lambda lib, out: lib.addmm(_square(lib), _square(lib), _square(lib), out=out),
    "amax": lambda lib, out: lib.amax(_square(lib), out=out),
    "argmax": lambda lib, out: lib.argmax(_square(lib), out=out),
    "bmm": lambda lib, out: lib.bmm(_square(lib)[None], _square(lib)[None], out=out),
    "dot": lambda lib, out: lib.dot(_square(lib)[0], _square(lib)[0], out=out),
    "float_power": lambda lib, out: lib.float_power(_square(lib), 2, out=out),
    "floor": lambda lib, out: lib.floor(_square(lib), out=out),
    "gather": lambda lib, out: lib.gather(_square(lib), 0, lib.tensor([[0]]), out=out),
    "gelu": lambda lib, out: lib._C._nn.gelu(_square(lib), out=out),
    "hash_tensor": lambda lib, out: lib.hash_tensor(_square(lib), out=out),
    "heaviside": lambda lib, out: lib.heaviside(_square(lib), _square(lib), out=out),
    "index_add": lambda lib, out: lib.index_add(_square(lib), 0, lib.tensor([0]), _square(lib)[:1], out=out),
    "index_select": lambda lib, out: lib.index_select(_square(lib), 0, lib.tensor([0]), out=out),
    "inv": lambda lib, out: lib.linalg.inv(_square(lib), out=out),
    "isposinf": lambda lib, out: lib.isposinf(_square(lib), out=out),
    "masked_select": lambda lib, out: lib.masked_select(_square(lib), _square(lib) > 2, out=out),
    "mm": lambda lib, out: lib.mm(_square(lib), _square(lib), out=out),
    "neg": lambda lib, out: lib.neg(_square(lib), out=out),
    "round": lambda lib, out: lib.round(_square(lib), decimals=1, out=out),
    "scatter": lambda lib, out: lib.scatter(_square(lib), 0, lib.tensor([[0]]), 1.0, out=out),
    "sign": lambda lib, out: lib.sign(_square(lib), out=out),
    "signbit": lambda lib, out: lib.signbit(_square(lib), out=out),
    "solve": lambda lib, out: lib.linalg.solve(_square(lib), _square(lib), out=out),
    "take": lambda lib, out: lib.take(_square(lib), lib.tensor([0]), out=out),
    "tril": lambda lib, out: lib.tril(_square(lib), out=out),
    "vdot": lambda lib, out: lib.vdot(_square(lib)[0], _square(lib)[0], out=out),
    "sort": lambda lib, out: lib.sort(_square(lib), out=(out, lib.empty(0, dtype=lib.int64))),
    "topk": lambda lib, out: lib.topk(_square(lib), 1, out=(out, lib.empty(0, dtype=lib.int64))),
    "max": lambda lib, out: lib.max(_square(lib), 1, out=(out, lib.empty(0, dtype=lib.int64))),
    "expand_copy": lambda lib, out: lib.expand_copy(_square(lib), (2, 2), out=out),
    "histc": lambda lib, out: lib.histc(_square(lib), 3, out=out),
    "isin": lambda lib, out: lib.isin(_square(lib), _square(lib), out=out),
    "matrix_norm": lambda lib, out: lib.linalg.matrix_norm(_square(lib), out=out),
    "multi_dot": lambda lib, out: lib.linalg.multi_dot([_square(lib), _square(lib)], out=out),
    "quantile": lambda lib, out: lib.quantile(_square(lib), 0.5, out=out),
    "renorm": lambda lib, out: lib.renorm(_square(lib), 2, 0, 1.0, out=out),
    "t_copy": lambda lib, out: lib.t_copy(_square(lib), out=out),
    "tensordot": lambda lib, out: lib.tensordot(_square(lib), _square(lib), 1, out=out),
    "kthvalue": lambda lib, out: lib.kthvalue(_square(lib), 1, out=(out, lib.empty(0, dtype=lib.int64))),
    "all": lambda lib, out: lib.all(_square(lib), out=out),
    "any": lambda lib, out: lib.any(_square(lib), 0, out=out),
    "cumprod": lambda lib, out: lib.cumprod(_square(lib), 0, out=out),
    "cumprod in int32": lambda lib, out: lib.cumprod(_square(lib), 0, dtype=lib.int32, out=out),
    "cumsum": lambda lib, out: lib.cumsum(_square(lib), 0, out=out),
    "cumsum in float32": lambda lib, out: lib.cumsum(_square(lib), 0, dtype=lib.float32, out=out),
    "cumsum of booleans": lambda lib, out: lib.cumsum(_square(lib) > 2, 0, out=out),
    "mean in float32": lambda lib, out: lib.mean(_square(lib), 0, dtype=lib.float32, out=out),
    "prod in complex64": lambda lib, out: lib.prod(_square(lib), 0, dtype=lib.complex64, out=out),
    "sum in int64": lambda lib, out: lib.sum(_square(lib), 0, dtype=lib.int64, out=out),
    **{
        f"fft.{name}": lambda lib, out, name=name: getattr(lib.fft, name)(_square(lib), out=out)
        for name in (
            "fft", "fft2", "fftn", "hfft", "hfft2", "hfftn", "ifft2", "ifftn", "ihfft2", "ihfftn", "irfft", "irfft2",
            "irfftn", "rfft", "rfft2", "rfftn",
        )
    },
}  # fmt: skip
_REFUSED = {
    "abs of booleans": lambda lib: abs(lib.tensor([True])),
    "booleans to the power of booleans": lambda lib: lib.tensor([True]) ** lib.tensor([True]),
    "True to the power of booleans": lambda lib: lib.pow(True, lib.tensor([True])),
    "trace of booleans": lambda lib: lib.trace(lib.ones(2, 2, dtype=lib.bool)),
    "isin among booleans": lambda lib: lib.isin(lib.tensor([1]), lib.tensor([True])),
    "isin of booleans in a number": lambda lib: lib.isin(lib.tensor([True]), 1),
    "kl_div of integers": lambda lib: lib.nn.functional.kl_div(lib.tensor([1]), lib.ones(1), reduction="sum"),
    "kl_div towards booleans": lambda lib: lib.nn.functional.kl_div(lib.ones(1), lib.tensor([True])),
    "vecdot of integers": lambda lib: lib.linalg.vecdot(lib.tensor([1]), lib.tensor([1])),
    "glu of integers": lambda lib: lib.nn.functional.glu(lib.tensor([1, 2])),
    "cumsum in booleans": lambda lib: lib.cumsum(lib.ones(2), 0, dtype=lib.bool),
    "cumprod in booleans": lambda lib: lib.cumprod(lib.tensor([True]), 0, dtype=lib.bool),
    "glu of complex numbers": lambda lib: lib.nn.functional.glu(lib.ones(2, dtype=lib.complex64)),
}


def _outcome(function, lib, *arguments):
    try:
        function(lib, *arguments)
    except (RuntimeError, NotImplementedError) as error:
        return type(error).__name__, str(error).split("\nException raised")[0]
    return "it runs"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex64", "bool"])
@pytest.mark.parametrize("name", _WITH_OUT)
def test_an_out_of_another_dtype_is_refused_where_pytorch_refuses_it(name, dtype):
    wanted, got = (
        _outcome(_WITH_OUT[name], lib, lib.empty(0, dtype=getattr(lib, dtype)))
        for lib in (torch, mindtorch_v2)
    )
    if dtype == "float64":
        assert got == wanted
    else:  # several things are wrong with some: which is said first is open
        assert (got == "it runs") == (wanted == "it runs"), (got, wanted)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", _REFUSED)
def test_a_dtype_is_refused_with_pytorchs_words(case):
    wanted, got = (_outcome(_REFUSED[case], lib) for lib in (torch, mindtorch_v2))
    assert got == wanted != "it runs"
