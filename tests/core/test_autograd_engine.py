"""The engine without PyTorch: formulas by finite differences, depth, threads, hooks, identity, collection."""

import gc
import threading
import weakref

import numpy as np
import pytest
from cases_together import go_through, grouped
from opcases import ROWS, as_numpy, has_cell, is_hole, ours, ours_in_place, sampled, samples, tensors_of

import mindtorch_v2 as torch

# ---- formulas ------------------------------------------------------------------------------------

_STEP = 1e-5


def _gradient_cases():
    """Every row that has derivatives, in double precision, on small samples."""
    out = []
    for row in sampled():
        if not (row.grad or row.family == "composite") or row.factory or row.family == "inplace":
            continue
        for number, sample in enumerate(samples(row.name)):
            small = all(np.prod(a.shape) <= 30 for a in sample.arrays())
            usable = not sample.forward_only and not sample.refused
            # An operand of lower precision would make the differences rounding noise.
            exact = all(a.dtype in (None, "float64") or not a.differentiable for a in sample.arrays())
            if small and usable and exact and "float64" in sample.dtypes:
                out.append((row.name, number))
    return out


def _inputs(args):
    flat = [a for v in args for a in (v if isinstance(v, list) else [v])]
    return [a for a in flat if isinstance(a, torch.Tensor) and a.requires_grad]


@pytest.mark.parametrize("cases", grouped(_gradient_cases(), lambda name, number: (name,)))
def test_formula_agrees_with_finite_differences(cases):
    go_through(cases, _compare_with_finite_differences)


def _compare_with_finite_differences(name, number):
    row, sample = ROWS[name], samples(name)[number]
    args, kwargs = sample.build(torch, "cpu", "float64", grad=True)
    inputs = _inputs(args)
    if row.cpp_name in ("remainder", "fmod") and len(inputs) == 2:
        ratio = as_numpy(inputs[0]) / as_numpy(inputs[1])
        if np.any(np.abs(ratio - np.round(ratio)) < 1e-3):
            return  # the sample has points where the function jumps
    if row.cpp_name in ("fmax", "fmin", "clamp_min", "clamp_max") and len(inputs) == 2:
        if np.any(as_numpy(inputs[0]) == as_numpy(inputs[1])):
            return  # at a tie the slope is a matter of taste
    results = [r for r in tensors_of(ours(row)(*args, **kwargs)) if r.requires_grad]
    if not results or any(r.dtype is not torch.float64 for r in results):
        return  # a cast to a dtype in which differences would be rounding noise, or no elements at all
    rng = np.random.default_rng(1)
    directions = [torch.from_numpy(np.array(rng.uniform(-1, 1, tuple(r.shape)))) for r in results]
    try:
        torch.autograd.backward(results, directions)
    except NotImplementedError as error:
        assert "derivative for" in str(error)
        return  # PyTorch has none for this argument either

    def objective():
        with torch.no_grad():
            made = tensors_of(ours(row)(*args, **kwargs))
            kept = [m for m in made if m.dtype is torch.float64][: len(directions)]
            return sum(
                float((as_numpy(m) * as_numpy(d)).sum()) for m, d in zip(kept, directions, strict=True)
            )

    if not np.isfinite(objective()):
        return  # a number of the sample lies outside the domain
    for x in inputs:
        if x.grad is None:  # not a path to the result
            continue
        data = x.detach()
        analytic = as_numpy(x.grad)
        for index in np.ndindex(*x.shape):
            if 0 in x.stride() and x.numel() > 1:
                break  # writing one element of an expanded input would move several
            value = data[index].item()
            data[index] = value + _STEP
            above = objective()
            data[index] = value - _STEP
            below = objective()
            data[index] = value
            if not np.isfinite(above - below):
                continue  # outside the domain, too
            assert (above - below) / (2 * _STEP) == pytest.approx(analytic[index], rel=1e-4, abs=1e-6)


_TWICE = [
    "mul.Tensor",
    "div.Tensor",
    "pow.Tensor_Scalar",
    "exp",
    "log",
    "tanh",
    "sigmoid",
    "sin",
    "sqrt",
    "reciprocal",
    "mm",
    "bmm",
    "addmm",
    "matmul",
    "softmax.int",
    "log_softmax.int",
    "square",
    "sum",
    "mean",
    "where.self",
    "erf",
    "rsqrt",
    "amax",
]


@pytest.mark.parametrize("name", _TWICE)
def test_the_gradient_of_a_gradient_agrees_with_finite_differences(name):
    row = ROWS[name]

    def handy(array):
        return 0 < np.prod(array.shape) <= 40 and array.dtype in (None, "bool") and array.layout != "expanded"

    small = [s for s in samples(name) if all(map(handy, s.arrays())) and not s.forward_only]
    sample = max(small, key=lambda s: sum(np.prod(a.shape) for a in s.arrays()))
    args, kwargs = sample.build(torch, "cpu", "float64", grad=True)
    inputs = _inputs(args)
    rng = np.random.default_rng(2)
    shape = ours(row)(*args, **kwargs).shape
    weight = torch.from_numpy(np.array(rng.uniform(0.5, 1.5, tuple(shape))))
    probes = [torch.from_numpy(np.array(rng.uniform(-1, 1, tuple(x.shape)))) for x in inputs]

    def first_order():
        result = ours(row)(*args, **kwargs)
        # Squaring makes the gradient depend on the input even where the operator is linear.
        grads = torch.autograd.grad((result * result * weight).sum(), inputs, create_graph=True)
        return sum((g * p).sum() for g, p in zip(grads, probes, strict=True))

    second = torch.autograd.grad(first_order(), inputs)
    for x, analytic in zip(inputs, second, strict=True):
        data = x.detach()
        for index in np.ndindex(*x.shape):
            value = data[index].item()
            data[index] = value + _STEP
            above = first_order().item()
            data[index] = value - _STEP
            below = first_order().item()
            data[index] = value
            if not np.isfinite(above - below):
                continue  # outside the domain, too
            assert (above - below) / (2 * _STEP) == pytest.approx(analytic[index].item(), rel=1e-3, abs=1e-5)


@pytest.mark.parametrize(
    "name", [r.name for r in sampled() if r.grad and r.family != "inplace" and has_cell(r, "npu")]
)
def test_the_npu_gives_the_cpus_gradient(name):
    row = ROWS[name]
    for sample in [s for s in samples(name) if not (s.forward_only or s.refused) and "float32" in s.dtypes][
        :3
    ]:
        found = []
        for device in ("cpu", "npu"):
            args, kwargs = sample.build(torch, device, "float32", grad=True)
            results = [r for r in tensors_of(ours(row)(*args, **kwargs)) if r.requires_grad]
            try:
                torch.autograd.backward([r.sum() for r in results])
            except NotImplementedError as error:
                if is_hole(error):
                    return
                found.append(str(error))  # no formula, on any device
                continue
            found.append([None if x.grad is None else as_numpy(x.grad) for x in _inputs(args)])
        if isinstance(found[0], str):
            assert found[0] == found[1]
            continue
        for on_cpu, on_npu in zip(*found, strict=True):
            assert (on_cpu is None) == (on_npu is None)
            if on_cpu is not None:
                np.testing.assert_allclose(on_npu, on_cpu, rtol=1e-5, atol=1e-6)


def _stretches(shape, to):
    """Whether broadcasting makes the first shape the second."""
    pairs = zip(reversed(shape), reversed(to), strict=False)
    return len(shape) <= len(to) and all(a in (1, b) for a, b in pairs)


def _in_place_cases():
    """Rows with in-place variant and derivatives, with samples whose result fits the first operand."""
    out = []
    for row in sampled():
        if "inplace" not in row.variants or not row.grad:
            continue
        for number, sample in enumerate(samples(row.name)):
            first, *others = [a.shape for a in sample.arrays()]
            fits = all(_stretches(other, first) for other in others)
            plain = all(
                a.dtype is None and a.layout != "expanded" and np.prod(a.shape) < 100 for a in sample.arrays()
            )
            if fits and plain and not (sample.forward_only or sample.refused):
                out.append((row.name, number))
    return out


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("cases", grouped(_in_place_cases(), lambda name, number: (name,)))
def test_in_place_has_the_functions_gradient(cases, device):
    go_through(cases, lambda name, number: _compare_in_place(name, number, device))


def _compare_in_place(name, number, device):
    row, sample, found = ROWS[name], samples(name)[number], []
    for in_place in (False, True):
        args, kwargs = sample.build(torch, device, "float32", grad=True)
        inputs = _inputs(args)
        written = args[0] * 1  # a leaf may not be written
        try:
            result = (ours_in_place if in_place else ours)(row)(written, *args[1:], **kwargs)
            (result * result).sum().backward()
        except NotImplementedError as error:
            assert is_hole(error) or "derivative for" in str(error)
            return
        assert (result is written) == in_place
        found.append([None if x.grad is None else as_numpy(x.grad) for x in inputs])
    for by_function, by_write in zip(*found, strict=True):
        np.testing.assert_allclose(by_write, by_function, rtol=1e-6, atol=1e-6)


def test_a_write_to_a_window_without_history_passes_the_gradient_to_its_other_operand():
    other = torch.full((2,), 4.0, requires_grad=True)
    base = torch.full((2, 2), 3.0)
    base[0].hypot_(other)
    base.sum().backward()
    assert other.grad.tolist() == pytest.approx([0.8, 0.8])


# ---- depth and threads ---------------------------------------------------------------------------

DEPTH = 100_000


def test_a_deep_graph_runs_backward_and_is_freed():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(DEPTH):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    del y


def test_a_deep_graph_that_never_ran_is_freed():
    y = torch.ones(1, requires_grad=True)
    for _ in range(DEPTH):
        y = y * 1.0
    del y


def test_a_deep_chain_of_views_and_writes_is_freed():
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    for _ in range(20_000):
        y[0].mul_(1.0)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    z = torch.ones(2)
    for _ in range(DEPTH):
        z = z.view(2)
    assert z.tolist() == [1, 1]
    del y, z


def test_a_deep_graph_of_tensors_with_attributes_is_freed():
    y = torch.ones(1, requires_grad=True)
    for i in range(20_000):
        y = y * 1.0
        y.step = i
    last = y.step
    del y
    assert last == 19_999


def test_threads_run_backward_at_once_through_graphs_of_their_own():
    results, errors = {}, []

    def work(number):
        try:
            x = torch.full((50,), float(number), requires_grad=True)
            for _ in range(30):
                y = x
                for _ in range(20):
                    y = y * 1.0 + 0.0
                (y * y).sum().backward()
            results[number] = x.grad.tolist()
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert results == {n: [2.0 * n * 30] * 50 for n in range(4)}


def test_threads_share_a_leaf():
    w = torch.ones(10, requires_grad=True)
    shared = w * 2
    barrier = threading.Barrier(4)
    errors = []

    def work():
        try:
            barrier.wait()
            for _ in range(50):
                (shared * 1.0).sum().backward(retain_graph=True)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert shared.requires_grad and w.grad is not None
    # As in PyTorch, two threads may add to one .grad at once; no pass may corrupt another.
    w.grad = None
    shared.sum().backward()
    assert w.grad.tolist() == [2.0] * 10


def test_grad_mode_is_per_thread():
    seen = {}
    with torch.no_grad():
        t = threading.Thread(target=lambda: seen.update(other=torch.is_grad_enabled()))
        t.start()
        t.join()
        seen["mine"] = torch.is_grad_enabled()
    assert seen == {"other": True, "mine": False}
    assert torch.is_grad_enabled()


# ---- failing hooks -------------------------------------------------------------------------------


class Stop(Exception):
    pass


def _raise(_):
    raise Stop("from the hook")


def test_an_exception_in_a_hook_reaches_the_caller_and_the_engine_works_on():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    handle = y.register_hook(_raise)
    with pytest.raises(Stop, match="from the hook"):
        (y * 3).sum().backward()
    assert x.grad is None
    handle.remove()
    (x * 2 * 3).sum().backward()
    assert x.grad.tolist() == [6, 6, 6]


def test_after_a_failed_backward_the_same_graph_gives_right_gradients():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    out = (y * 3).sum() + (y * 5).sum()
    handle = y.register_hook(_raise)
    with pytest.raises(Stop):
        out.backward(retain_graph=True)
    handle.remove()
    out.backward()
    assert x.grad.tolist() == [16, 16, 16]


def test_a_refused_root_leaves_no_gradient_behind():
    x = torch.ones(2, requires_grad=True)
    a, b = x * 2, x * 3
    with pytest.raises(RuntimeError):
        torch.autograd.backward([a, b], [torch.ones(2), torch.ones(5)])
    with pytest.raises(RuntimeError):
        torch.autograd.backward([a, torch.ones(1)], [torch.ones(2), None])
    a.backward(torch.ones(2))
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize(
    "wrong", [lambda g: torch.ones(7), lambda g: "text", lambda g: g.double(), lambda g: 3]
)
def test_a_hook_that_returns_nonsense_is_an_error(wrong):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(wrong)
    with pytest.raises((RuntimeError, TypeError)):
        y.sum().backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_backward_inside_a_hook():
    x, inner = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y = x * 2

    def nested(grad):
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            (inner * 3).sum().backward()

    y.register_hook(nested)
    (y * 5).sum().backward()
    assert x.grad.tolist() == [10, 10]
    assert inner.grad.tolist() == [3, 3]


def test_a_hook_may_remove_itself_while_it_runs():
    x = torch.ones(1, requires_grad=True)
    calls = []

    def once(grad):
        calls.append(1)
        handle.remove()

    handle = x.register_hook(once)
    (x * 1).backward()
    (x * 1).backward()
    assert calls == [1]


# ---- Python identity -----------------------------------------------------------------------------


def test_the_same_gradient_is_the_same_object():
    x = torch.ones(1, requires_grad=True)
    (x * 2).backward()
    assert x.grad is x.grad
    x.grad.note = "kept"
    gc.collect()
    assert x.grad.note == "kept"
    first = x.grad
    (x * 2).backward()
    assert x.grad is first and first.item() == 4


def test_attributes_survive_while_only_the_graph_holds_the_tensor():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.note = "kept"
    base = y
    view = base.view(2)
    del y, base
    gc.collect()
    assert view._base.note == "kept"


def test_a_saved_tensor_keeps_its_object():
    w = torch.ones(2, requires_grad=True)
    w.note = "kept"
    ref = weakref.ref(w)
    y = w * torch.ones(2, requires_grad=True)
    del w
    gc.collect()
    assert ref() is not None and ref().note == "kept"
    y.sum().backward()
    del y
    gc.collect()
    assert ref() is None


def test_a_dropped_leaf_does_not_break_backward():
    x = torch.ones(2, requires_grad=True)
    y = (x + 1) * 2
    del x
    gc.collect()
    y.sum().backward()


def test_weak_references_end_with_the_tensor():
    x = torch.ones(1)
    ended = []
    ref = weakref.ref(x, lambda _: ended.append(1))
    del x
    assert ref() is None and ended == [1]


def test_cycles_through_attributes_are_collected():
    x = torch.ones(1)
    x.me = x
    y = torch.ones(1)
    y.box = [y]
    refs = [weakref.ref(x), weakref.ref(y)]
    del x, y
    gc.collect()
    assert [r() for r in refs] == [None, None]


def test_a_hook_that_holds_its_leaf_does_not_crash_the_collector():
    for _ in range(100):
        x = torch.ones(1, requires_grad=True)
        x.register_hook(lambda g, x=x: None)
        (x * 2).backward()
    del x
    gc.collect()


def test_parts_of_the_graph_can_be_walked_after_the_tensors_are_gone():
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    node = y.grad_fn
    del x, y
    gc.collect()
    names = []
    while node is not None:
        names.append(node.name() if callable(node.name) else node.name)
        following = [n for n, _ in node.next_functions if n is not None]
        node = following[0] if following else None
    assert names[0].startswith("SumBackward") and names[-1].endswith("AccumulateGrad")
