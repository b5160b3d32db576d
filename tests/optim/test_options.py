"""Options of optimizers: what is refused, what older states get, what subclasses may do."""

import copy
import inspect
import typing
from dataclasses import KW_ONLY

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import optim
from mindtorch_v2.optim import _list_optimizer, _options

DECLARED = [name for name in optim.__all__ if hasattr(getattr(optim, name), "_options")]


def parameter(*shape):
    return torch.ones(shape or (2,), requires_grad=True)


def make(name, **options):
    return getattr(optim, name)([parameter(2, 2)], **options)


# --- arguments


def test_a_misspelt_option_is_refused_with_the_name_that_was_meant():
    with pytest.raises(TypeError) as error:
        optim.Adam([parameter()], weight_deacy=0.1)
    assert str(error.value) == (
        "Adam.__init__() got an unexpected keyword argument 'weight_deacy'; did you mean 'weight_decay'?"
    )


def test_an_unknown_option_is_refused_with_the_list_of_options():
    with pytest.raises(TypeError) as error:
        optim.Rprop([parameter()], xyz=0.1)
    assert str(error.value) == (
        "Rprop.__init__() got an unexpected keyword argument 'xyz'; the options are lr, etas, step_sizes, "
        "capturable, foreach, maximize, differentiable"
    )


def test_what_a_class_is_defined_by_is_no_argument_of_it():
    with pytest.raises(TypeError, match="unexpected keyword argument 'decoupled_weight_decay'"):
        optim.AdamW([parameter()], decoupled_weight_decay=False)


@pytest.mark.parametrize("name", DECLARED)
def test_every_optimizer_refuses_an_unknown_option(name):
    with pytest.raises(TypeError, match=rf"{name}.__init__\(\) got an unexpected keyword argument 'colour'"):
        make(name, colour=1)


def test_keyword_only_options_are_refused_by_position():
    with pytest.raises(
        TypeError, match=r"Adam.__init__\(\) takes from 2 to 7 positional arguments but 8 were"
    ):
        optim.Adam([parameter()], 0.1, (0.9, 0.99), 1e-8, 0, False, True)


def test_options_may_be_given_by_position_or_by_name():
    by_position = optim.Adam([parameter()], 0.1, (0.5, 0.6), 1e-3, 0.2, True)
    by_name = optim.Adam(
        params=[parameter()], amsgrad=True, weight_decay=0.2, eps=1e-3, betas=(0.5, 0.6), lr=0.1
    )
    assert by_position.defaults == by_name.defaults and by_name.defaults["betas"] == (0.5, 0.6)


@pytest.mark.parametrize("name", DECLARED)
def test_no_option_is_an_attribute_of_the_class(name):
    cls = getattr(optim, name)
    assert not [option for option in cls._options if hasattr(cls, option)]


@pytest.mark.parametrize("name", DECLARED)
def test_the_documentation_names_every_argument(name):
    cls = getattr(optim, name)
    for argument in list(inspect.signature(cls).parameters.values())[1:]:
        assert f"* ``{argument.name}={argument.default!r}``: " in cls.__doc__


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("Adam", {"lr": -1.0}, "Invalid learning rate: -1.0"),
        ("Adam", {"betas": (0.9, 1.0)}, "Invalid beta parameter at index 1: 1.0"),
        ("AdamW", {"eps": -1.0}, "Invalid epsilon value: -1.0"),
        ("AdamW", {"weight_decay": -1.0}, "Invalid weight_decay value: -1.0"),
        ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
        ("Adadelta", {"rho": 1.5}, "Invalid rho value: 1.5"),
        ("Rprop", {"etas": (0.5, 0.9)}, "Invalid eta values: 0.5, 0.9"),
        ("Adafactor", {"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
        ("Adafactor", {"eps": (-1.0, 0.1)}, "epsilon1 should be >= 0 but is: -1.0"),
        ("Adafactor", {"beta2_decay": 0.5}, "beta2_decay should be <= 0 but is: 0.5"),
        ("Muon", {"weight_decay": -1.0}, "weight decay should be >= 0 but is: -1.0"),
        ("Muon", {"adjust_lr_fn": "x"}, "Adjust learning rate function x is not supported"),
    ],
)
def test_a_bad_value_is_refused_in_pytorchs_words(name, options, message):
    with pytest.raises(ValueError) as error:
        make(name, **options)
    assert str(error.value) == message


# --- states from before an option existed


@pytest.mark.parametrize("name", [name for name in DECLARED if name not in ("LBFGS", "Muon", "SparseAdam")])
def test_states_without_the_newer_options_get_their_defaults(name):
    optimizer = make(name)
    state = copy.deepcopy(optimizer.state_dict())
    newer = {option: row.default for option, row in optimizer._options.items() if row.later}
    assert {"foreach", "maximize"} <= set(newer)
    for option in newer:
        del state["param_groups"][0][option]
    optimizer.load_state_dict(state)
    group = optimizer.param_groups[0]
    assert {option: group[option] for option in newer} == newer


def test_a_state_of_adam_makes_no_adamw_forget_that_it_is_one():
    optimizer = optim.AdamW([parameter()])
    state = copy.deepcopy(optim.Adam([parameter()]).state_dict())
    assert state["param_groups"][0]["decoupled_weight_decay"] is False
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["decoupled_weight_decay"] is True


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("Adam", ["step"]), ("NAdam", ["step", "mu_product"]), ("ASGD", ["step", "eta", "mu"])],
)
def test_numbers_that_old_states_have_become_tensors(name, numbers):
    optimizer = make(name)
    param = optimizer.param_groups[0]["params"][0]
    param.grad = torch.ones(2, 2)
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    before = {key: state["state"][0][key].item() for key in numbers}
    state["state"][0].update(before)
    optimizer.load_state_dict(state)
    for key in numbers:
        assert isinstance(optimizer.state[param][key], torch.Tensor)
        assert optimizer.state[param][key].item() == pytest.approx(before[key])


# --- classes of one's own


class Slow(optim.AdamW):
    """As programs derive from optimizers: arguments of its own, and the base's by position."""

    note: str = "kept"

    def __init__(self, params, factor, lr=1e-3):
        super().__init__(params, lr * factor, (0.8, 0.9))
        self.factor = factor


def test_a_subclass_has_its_own_arguments():
    assert str(inspect.signature(Slow)) == "(params, factor, lr=0.001)"
    slow = Slow([parameter()], 0.5, lr=0.1)
    assert slow.defaults["lr"] == 0.05 and slow.defaults["betas"] == (0.8, 0.9) and slow.note == "kept"
    assert copy.deepcopy(slow).defaults == slow.defaults


def test_a_subclass_may_declare_further_options():
    @_options.declared()
    class Warmed(optim.SGD):
        _: KW_ONLY
        warmth: float = _options.option(default=2.0, check=_options.not_negative, meaning="how warm")

    assert list(inspect.signature(Warmed).parameters)[-1] == "warmth"
    optimizer = Warmed([parameter()], 0.5, warmth=3.0)
    assert optimizer.param_groups[0]["warmth"] == 3.0 and optimizer.param_groups[0]["lr"] == 0.5
    with pytest.raises(ValueError, match="Invalid warmth value: -1"):
        Warmed([parameter()], warmth=-1)
    assert "warmth" not in inspect.signature(optim.SGD).parameters


def test_a_step_that_takes_what_nobody_gives_is_refused_when_it_is_declared():
    class Odd(_list_optimizer.ListOptimizer):
        pass

    with pytest.raises(TypeError, match=r"odd\(\) takes \['colour'\], which are neither options nor state"):

        @_list_optimizer.step_of(Odd)
        def odd(params, grads, *, colour):
            raise AssertionError("never called")


def test_a_program_may_replace_the_functional_form(monkeypatch):
    import mindtorch_v2.optim.adam as module

    seen = {}
    monkeypatch.setattr(module, "adam", lambda params, grads, **arguments: seen.update(arguments))
    optimizer = optim.Adam([parameter()], lr=0.25, betas=(0.5, 0.75))
    optimizer.param_groups[0]["params"][0].grad = torch.ones(2)
    optimizer.step()
    assert (seen["lr"], seen["beta1"], seen["beta2"], seen["max_exp_avg_sqs"]) == (0.25, 0.5, 0.75, [])


@pytest.mark.parametrize("name", DECLARED)
def test_the_types_of_arguments_can_be_asked_for(name):
    hints = typing.get_type_hints(getattr(optim, name).__init__)
    assert hints["params"] == optim.optimizer.ParamsT and hints["lr"] == float | torch.Tensor
