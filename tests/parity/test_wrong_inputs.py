"""Inputs that PyTorch's databases call wrong: operators, modules and optimizers refuse them with the same errors."""

import re
import warnings

import pytest
import torch
from opinfo_bridge import OPS, Translator
from opinfo_checks import check_errors, quiet
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

import mindtorch_v2

# Messages of parts that are other parts here, and what is taken instead of refused.
_OTHERWISE = {
    "amax": "an out= of integers is refused as one that the result cannot be cast to",
    "amin": "likewise",
    "narrow": "a truth value is taken as the place to begin",
    "narrow_copy": "PyTorch's kernel has checks of its own, with other words",
    **dict.fromkeys(
        ("cat", "gather", "index_select", "kthvalue", "masked_select", "take"),
        "an out= that is an operand as well is copied first",
    ),
}


@pytest.mark.parametrize(
    "name", sorted(n for n, op in OPS.items() if op.error_inputs_func and n not in _OTHERWISE)
)
def test_operators_refuse_what_the_database_says(name):
    with quiet():
        check_errors(OPS[name])


def _refused(case, call):
    with pytest.raises(case.error_type) as refused, quiet():
        call()
    assert re.search(case.error_regex, str(refused.value)), str(refused.value)


def _module_cases():
    for info in module_db:
        if info.module_error_inputs_func is None or not hasattr(mindtorch_v2.nn, info.module_cls.__name__):
            continue
        cases = info.module_error_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=False, training=True
        )
        for number, case in enumerate(cases):
            yield pytest.param(info.module_cls, case, id=f"{info.name}-{number}")


@pytest.mark.parametrize(("kind", "case"), list(_module_cases()))
def test_modules_refuse_what_the_database_says(kind, case):
    put = Translator(mindtorch_v2)
    given = case.module_error_input

    def call():
        made, called = given.constructor_input, given.forward_input
        args, kwargs = put((made.args, made.kwargs))
        module = getattr(mindtorch_v2.nn, kind.__name__)(*args, **kwargs)
        if called is not None:
            args, kwargs = put((called.args, called.kwargs))
            module(*args, **kwargs)

    _refused(case, call)


def _optimizer_cases():
    for info in optim_db:
        for number, case in enumerate(info.optim_error_inputs_func(device="cpu", dtype=torch.float32)):
            yield pytest.param(info.optim_cls, case, id=f"{info.name}-{number}")


class _Parameters:
    """Parameters of PyTorch's as ours, one for each."""

    def __init__(self):
        self.made = {}

    def __call__(self, value):
        if isinstance(value, torch.nn.Parameter):
            if id(value) not in self.made:
                self.made[id(value)] = mindtorch_v2.nn.Parameter(Translator(mindtorch_v2)(value.detach()))
            return self.made[id(value)]
        if isinstance(value, torch.Tensor):
            return Translator(mindtorch_v2)(value)
        if isinstance(value, dict):
            return {name: self(each) for name, each in value.items()}
        return type(value)(map(self, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(("kind", "case"), list(_optimizer_cases()))
def test_optimizers_refuse_what_the_database_says(kind, case):
    put, given = _Parameters(), case.optimizer_error_input
    params = (
        put(given.params) if given.params is not None else [mindtorch_v2.nn.Parameter(mindtorch_v2.ones(2))]
    )

    def call():
        with warnings.catch_warnings():
            warnings.simplefilter("error" if issubclass(case.error_type, Warning) else "ignore")
            optimizer = getattr(mindtorch_v2.optim, kind.__name__)(params, **put(given.kwargs))
            for param in params:
                param.grad = mindtorch_v2.ones_like(param)
            optimizer.step()

    _refused(case, call)
