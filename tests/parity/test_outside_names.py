"""Private functions of PyTorch that programs outside it call: they are there and do the same."""

import importlib

import numpy as np


def module(library, name):
    return importlib.import_module(f"{library.__name__}.{name}")


def assert_same(both, function):
    theirs, ours = (function(library) for library in both)
    assert len(theirs) == len(ours)
    for a, b in zip(theirs, ours, strict=True):
        if hasattr(a, "detach"):
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-6)
        else:
            assert str(b).replace("mindtorch_v2", "torch") == str(a)


def failure(function, *args):
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - compared with the other library's
        return f"{type(error).__name__}: {error}"


def test_projections_of_attention(both):
    def results(t):
        t.manual_seed(0)
        F, x, w, b = t.nn.functional, t.rand(3, 2, 4), t.rand(12, 4), t.rand(12)
        parts = w[:4], w[4:8], w[8:]
        return [
            *F._in_projection_packed(x, x, x, w, b),
            *F._in_projection_packed(x, x + 1, x, w),
            *F._in_projection(x, x, x, *parts, b[:4]),
            failure(F._in_projection, x, x, x, w, w, w),
            failure(F._in_projection, x, x, x, *parts, b),
        ]

    assert_same(both, results)


def test_masks_of_attention(both):
    def results(t):
        F = t.nn.functional
        return [
            F._canonical_mask(t.tensor([True, False]), "a", None, "b", t.float32),
            F._canonical_mask(t.tensor([1.0]), "a", None, "b", t.float32),
            F._canonical_mask(None, "a", None, "b", t.float32),
            failure(F._canonical_mask, t.tensor([1]), "a", None, "b", t.float32),
            F._none_or_dtype(None),
            F._none_or_dtype(t.ones(1)),
            failure(F._none_or_dtype, 3),
            F._mha_shape_check(t.ones(2, 2), t.ones(2, 2), t.ones(2, 2), None, None, 1),
        ]

    assert_same(both, results)


def test_gradients_in_one_piece(both):
    def results(t):
        tensors = [t.arange(6.0).view(2, 3), t.ones(4)]
        flat = module(t, "_utils")._flatten_dense_tensors(tensors)
        return [flat, *module(t, "_utils")._unflatten_dense_tensors(flat, tensors)]

    assert_same(both, results)


def test_small_tools_of_modules_schedules_and_hooks(both):
    def results(t):
        conv, hooks = module(t, "nn.modules.conv"), module(t, "utils.hooks")
        schedule = t.optim.lr_scheduler.StepLR(t.optim.SGD([t.ones(1)], lr=0.1), 1)
        with module(t, "optim.lr_scheduler")._enable_get_lr_call(schedule):
            inside = schedule._get_lr_called_within_step
        hook = hooks.unserializable_hook(lambda grad: grad)
        return [
            module(t, "nn.modules.module")._addindent("a\nb", 3),
            conv._single(2) + conv._pair(3) + conv._triple(4),
            inside,
            schedule._get_lr_called_within_step,
            hook.__torch_unserializable__,
            t.legacy_contiguous_format,
        ]

    assert_same(both, results)
