"""The steps of optimizers, and the scale of mixed-precision training."""

import torch

from .cases_foreach import places, tensors
from .harness import FLOATS, OUT, Inplace, case


@case("aclnnForeachNonFiniteCheckAndUnscale", dtypes=FLOATS)
def gradients_are_unscaled_and_looked_through(make):
    scale = torch.tensor([0.25])
    x = tensors(make)
    yield (
        [places(x), Inplace(torch.zeros(1)), scale],
        (*[t * 0.25 for t in x], torch.zeros(1)),
    )
    for bad in (float("inf"), float("nan")):
        x[1][2] = bad
        yield [places(x), Inplace(torch.zeros(1)), scale], (*[t * 0.25 for t in x], torch.ones(1))


RATES = {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-3, "weight_decay": 0.05}


def adam(parameter, grad, mean, square, step, *, decoupled, largest=None, maximize=False):
    """A step of PyTorch's optimizer from a given state, in double; the state has seen `step` steps."""
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    made = parameter.double().clone().requires_grad_()
    optimizer = kind([made], amsgrad=largest is not None, maximize=maximize, foreach=False, **RATES)
    made.grad = grad.double()
    state = {
        "step": torch.tensor(float(step)),
        "exp_avg": mean.double().clone(),
        "exp_avg_sq": square.double().clone(),
    }
    if largest is not None:
        state["max_exp_avg_sq"] = largest.double().clone()
    optimizer.state[made] = state
    optimizer.step()
    results = [made.detach(), state["exp_avg"], state["exp_avg_sq"]]
    if largest is not None:
        results.append(state["max_exp_avg_sq"])
    return [result.to(parameter.dtype) for result in results]


def adam_state(make, *shape):
    return (
        make(*shape),
        make(*shape),
        make(*shape),
        make(*shape, low=0.1, high=1),
        make(*shape, low=0.1, high=1),
    )


@case("aclnnApplyAdamWV2", dtypes=FLOATS, tolerance=4)
def a_step_of_adamw(make):
    p, g, m, v, top = adam_state(make, 3, 4)
    numbers = [0.1, 0.9, 0.99, 0.05, 1e-3]
    for maximize in (False, True):
        for step in (torch.tensor([2.0]), torch.tensor([2])):
            yield (
                [Inplace(p), Inplace(m), Inplace(v), None, g, step, *numbers, False, maximize],
                tuple(adam(p, g, m, v, 2, decoupled=True, maximize=maximize)),
            )
    yield (
        [Inplace(p), Inplace(m), Inplace(v), Inplace(top), g, torch.tensor([2.0]), *numbers, True, False],
        tuple(adam(p, g, m, v, 2, decoupled=True, largest=top)),
    )


@case("aclnnApplyAdamW", dtypes=FLOATS, tolerance=4)
def a_step_of_adamw_with_its_numbers_on_the_device(make):
    p, g, m, v, _ = adam_state(make, 3, 4)
    powers = [torch.tensor([beta**2], dtype=torch.float32) for beta in RATES["betas"]]
    rate, decay, beta1, beta2, eps = (
        torch.tensor([n], dtype=torch.float32) for n in (0.1, 0.05, 0.9, 0.99, 1e-3)
    )
    return (
        [Inplace(p), Inplace(m), Inplace(v), *powers, rate, decay, beta1, beta2, eps, g, None, False, False],
        tuple(adam(p, g, m, v, 2, decoupled=True)),
    )


@case("aclnnFusedAdam", "aclnnFusedAdamw", dtypes=FLOATS, tolerance=4)
def a_step_of_adam_for_a_list_of_parameters(make, operator):
    states = [adam_state(make, *shape) for shape in ((3, 4), (5,))]
    p, g, m, v, top = map(list, zip(*states, strict=True))
    steps = [torch.tensor([2.0]), torch.tensor([4.0])]
    numbers = [0.1, 0.9, 0.99, 0.05, 1e-3]
    for amsgrad in (False, True):
        made = [
            adam(
                *state[:4], int(step), decoupled=operator.endswith("w"), largest=state[4] if amsgrad else None
            )
            for state, step in zip(states, steps, strict=True)
        ]
        new_p, new_m, new_v, *new_top = map(list, zip(*made, strict=True))
        yield (
            [places(p), places(g), places(m), places(v), places(top) if amsgrad else None, steps, None, None]
            + [*numbers, amsgrad, False],
            (*new_p, *g, *new_m, *new_v, *(new_top[0] if amsgrad else [])),
        )
    # An infinite gradient was found: nothing changes.
    yield (
        [
            places(p),
            places(g),
            places(m),
            places(v),
            None,
            steps,
            None,
            torch.tensor([1.0]),
            *numbers,
            False,
            False,
        ],
        (*p, *g, *m, *v),
    )


@case("aclnnFusedAdam", dtypes=(torch.float32,))
def scaled_gradients_are_divided_first(make):
    p, g, m, v, _ = adam_state(make, 3, 4)
    expected = adam(p, g / 4, m, v, 2, decoupled=False)
    return (
        [
            places([p]),
            places([g]),
            places([m]),
            places([v]),
            None,
            [torch.tensor([2.0])],
            torch.tensor([4.0]),
            None,
        ]
        + [0.1, 0.9, 0.99, 0.05, 1e-3, False, False],
        (expected[0], g / 4, *expected[1:]),
    )


@case("aclnnFusedSgd", dtypes=FLOATS, tolerance=4)
def a_step_of_sgd_for_a_list_of_parameters(make):
    p, g, buffers = tensors(make), tensors(make), tensors(make)

    def step(first, nesterov, maximize):
        made = [t.double().clone().requires_grad_() for t in p]
        optimizer = torch.optim.SGD(
            made, lr=0.1, momentum=0.9, dampening=0.0 if nesterov else 0.2, weight_decay=0.05,
            nesterov=nesterov, maximize=maximize, foreach=False,
        )  # fmt: skip
        for parameter, grad, buffer in zip(made, g, buffers, strict=True):
            parameter.grad = grad.double()
            if not first:
                optimizer.state[parameter]["momentum_buffer"] = buffer.double().clone()
        optimizer.step()
        moments = [optimizer.state[parameter]["momentum_buffer"] for parameter in made]
        return (*[t.detach().to(make.dtype) for t in made], *g, *[t.to(make.dtype) for t in moments])

    for first, nesterov, maximize in [(True, False, False), (False, True, False), (False, False, True)]:
        dampening = 0.0 if nesterov else 0.2
        yield (
            [
                places(p),
                places(g),
                places(buffers),
                None,
                0.05,
                0.9,
                0.1,
                dampening,
                nesterov,
                maximize,
                first,
            ],
            step(first, nesterov, maximize),
        )
    plain = tuple(t - 0.1 * (grad + 0.05 * t) for t, grad in zip(p, g, strict=True))
    yield [places(p), places(g), None, None, 0.05, 0.0, 0.1, 0.0, False, False, True], (*plain, *g)


@case("aclnnApplyFusedEmaAdam", dtypes=FLOATS, tolerance=4)
def a_step_of_adam_with_a_running_average(make):
    p, g, m, v, average = adam_state(make, 3, 4)
    for mode in (0, 1):
        expected = adam(p.double(), g, m, v, 2, decoupled=mode == 1)
        mean = 0.75 * average.double() + 0.25 * expected[0]
        yield (
            [g, Inplace(p), Inplace(m), Inplace(v), Inplace(average), torch.tensor([3])]
            + [0.1, 0.75, 0.9, 0.99, 1e-3, mode, True, 0.05],
            tuple(t.to(make.dtype) for t in (*expected, mean)),
        )


@case("aclnnAmpUpdateScale", dtypes=(torch.float32,))
def the_scale_grows_and_backs_off(make):
    for tracker, found in [(3, 0.0), (4, 0.0), (4, 1.0)]:
        scale, count = torch.tensor([16.0]), torch.tensor([tracker], dtype=torch.int32)
        new_scale, new_count = scale.clone(), count.clone()
        torch._amp_update_scale_(new_scale, new_count, torch.tensor([found]), 2.0, 0.5, 5)
        yield [scale, count, torch.tensor([found]), 2.0, 0.5, 5, OUT, OUT], (new_scale, new_count)


@case("aclnnApplyAdam", dtypes=FLOATS, tolerance=4)
def a_step_of_adam_that_may_look_ahead(make):
    p, g, m, v, _ = adam_state(make, 3, 4)
    numbers = [torch.tensor([n], dtype=torch.float32) for n in (0.81, 0.98, 0.1, 0.9, 0.99, 1e-3)]
    for nesterov in (False, True):
        mean = 0.9 * m.double() + 0.1 * g.double()
        square = 0.99 * v.double() + 0.01 * g.double() ** 2
        rate = 0.1 * (1 - 0.98) ** 0.5 / (1 - 0.81)
        step = 0.9 * mean + 0.1 * g.double() if nesterov else mean
        new = p.double() - rate * step / (square.sqrt() + 1e-3)
        yield (
            [Inplace(p), Inplace(m), Inplace(v), *numbers, g, False, nesterov],
            tuple(t.to(make.dtype) for t in (new, mean, square)),
        )
