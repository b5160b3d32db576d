"""torch._foreach_* against PyTorch: values, in-place forms, gradients and errors."""

import numpy as np
import pytest

UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal "
    "round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
).split()
CALLS = {
    **{name: (name, lambda m, a, b: ()) for name in UNARY},
    **{f"{name} list": (name, lambda m, a, b: (b,)) for name in ("add", "sub", "mul", "div", "pow")},
    **{f"{name} number": (name, lambda m, a, b: (1.5,)) for name in ("add", "sub", "mul", "div", "pow")},
    **{
        f"{name} numbers": (name, lambda m, a, b: ([0.5, 2.0],))
        for name in ("add", "sub", "mul", "div", "pow")
    },
    **{f"{name} tensor": (name, lambda m, a, b: (m.tensor(0.25),)) for name in ("add", "mul", "div")},
    **{
        f"{name} {kind}": (name, make)
        for name in ("clamp_min", "clamp_max", "maximum", "minimum")
        for kind, make in (
            ("list", lambda m, a, b: (b,)),
            ("number", lambda m, a, b: (0.4,)),
            ("numbers", lambda m, a, b: ([0.4, 0.6],)),
        )
    },
    **{
        f"{name} {kind}": (name, make)
        for name in ("addcmul", "addcdiv")
        for kind, make in (
            ("plain", lambda m, a, b: (b, b)),
            ("number", lambda m, a, b: (b, b, 0.3)),
            ("numbers", lambda m, a, b: (b, b, [0.3, 0.6])),
            ("tensor", lambda m, a, b: (b, b, m.tensor([0.3, 0.6]))),
        )
    },
    "lerp number": ("lerp", lambda m, a, b: (b, 0.3)),
    "lerp numbers": ("lerp", lambda m, a, b: (b, [0.3, 0.8])),
    "lerp list": ("lerp", lambda m, a, b: (b, a)),
}
WITHOUT_INPLACE = {
    "max": ("max", lambda m, a, b: ()),
    "norm": ("norm", lambda m, a, b: ()),
    "norm 1": ("norm", lambda m, a, b: (1,)),
    "norm inf": ("norm", lambda m, a, b: (float("inf"),)),
    "powsum": ("powsum", lambda m, a, b: (3,)),
    "clone": ("clone", lambda m, a, b: ()),
}


def tensors(module, seed, device="cpu", dtype="float32"):
    random = np.random.default_rng(seed)
    dtype = getattr(module, dtype)
    return [
        module.tensor((0.1 + 0.8 * random.random(shape)).tolist(), dtype=dtype, device=device)
        for shape in ((2, 3), (4,))
    ]


def moved(values, device):
    """Arguments on the device; tensors of numbers stay on the host, where PyTorch wants them."""
    return tuple(
        [v.to(device) if hasattr(v, "to") else v for v in value] if isinstance(value, list) else value
        for value in values
    )


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize(
    ("name", "make"), [*CALLS.values(), *WITHOUT_INPLACE.values()], ids=[*CALLS, *WITHOUT_INPLACE]
)
def test_values_agree(both, name, make, device):
    results = []
    for module, place in zip(both, ("cpu", device), strict=True):
        first, second = tensors(module, 0), tensors(module, 1)
        arguments = moved(make(module, first, second), place)
        made = getattr(module, f"_foreach_{name}")([t.to(place) for t in first], *arguments)
        assert isinstance(made, tuple)
        results.append([t.cpu().tolist() for t in made])
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "make"), CALLS.values(), ids=CALLS)
def test_in_place_forms_write_the_list_and_return_it(both, name, make):
    results = []
    for module in both:
        first, second = tensors(module, 0), tensors(module, 1)
        made = getattr(module, f"_foreach_{name}_")(first, *make(module, first, second))
        assert made is first
        results.append([t.tolist() for t in first])
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


DIFFERENTIABLE = {key: call for key, call in CALLS.items() if key not in ("addcmul tensor", "addcdiv tensor")}


@pytest.mark.parametrize(("name", "make"), DIFFERENTIABLE.values(), ids=DIFFERENTIABLE)
def test_gradients_agree(both, name, make):
    results = []
    for module in both:
        first = [t.requires_grad_() for t in tensors(module, 0, dtype="float64")]
        second = tensors(module, 1, dtype="float64")
        made = getattr(module, f"_foreach_{name}")(first, *make(module, first, second))
        sum((t * t).sum() for t in made).backward()
        results.append([t.grad.tolist() for t in first])
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


def test_lists_are_copied_cleared_and_multiplied(both):
    for module in both:
        first, second = tensors(module, 0), tensors(module, 1)
        module._foreach_copy_(first, second)
        assert [t.tolist() for t in first] == [t.tolist() for t in second]
        module._foreach_zero_(first)
        assert not any(t.any() for t in first)
        assert module._foreach_pow(2.0, [module.tensor([3.0])])[0].tolist() == [8.0]


ERRORS = {
    "empty": lambda m, t: m._foreach_add([], 1),
    "empty unary": lambda m, t: m._foreach_sqrt([]),
    "lengths": lambda m, t: m._foreach_add([t], [t, t]),
    "numbers": lambda m, t: m._foreach_add([t], [1.0, 2.0]),
    "third list": lambda m, t: m._foreach_addcmul([t], [t], [t, t]),
    "lerp": lambda m, t: m._foreach_lerp([t], [t, t], 0.5),
    "tensor": lambda m, t: m._foreach_mul([t], m.ones(2)),
    "packed": lambda m, t: m._foreach_addcmul([t], [t], [t], m.tensor([1.0, 2.0])),
    "copy": lambda m, t: m._foreach_copy_([t], [t, t]),
    "zero": lambda m, t: m._foreach_zero_([]),
    "norm": lambda m, t: m._foreach_norm([]),
    "unscale": lambda m, t: m._amp_foreach_non_finite_check_and_unscale_([t], m.zeros(2), m.ones(1)),
    "unscale dtype": lambda m, t: m._amp_foreach_non_finite_check_and_unscale_([t], m.zeros(1), m.ones(1).double()),
    "tracker": lambda m, t: m._amp_update_scale_(m.ones(()), m.zeros(()), m.zeros(()), 2.0, 0.5, 1),
}  # fmt: skip


@pytest.mark.parametrize("call", ERRORS.values(), ids=ERRORS)
def test_errors_are_pytorchs(both, call):
    messages = []
    for module in both:
        with pytest.raises(RuntimeError) as caught:
            call(module, module.ones(2))
        messages.append(str(caught.value))
    assert messages[1] == messages[0]
