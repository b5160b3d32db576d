"""torch.distributions: log probabilities, statistics, samples and their gradients are PyTorch's, for every one."""

import copy
import inspect
import pickle
import warnings

import pytest
import torch as pytorch
from distribution_cases import CASES, made

import mindtorch_v2

# PyTorch's slopes of gamma samples are approximations: ours are closer (tests/core/test_distributions.py).
GAMMA_SLOPES = 2e-3


# PyTorch asks for singular samples the wrong way round and draws the others again; its gradients then fail.
OTHER_DRAWS = [name for name in CASES if name.startswith("Wishart")]


def exact(name):
    """float64, but where PyTorch's own does not take it."""
    return "float32" if name == "GeneralizedPareto" else "float64"


def plain(value):
    """Tensors as PyTorch's, to be compared; sizes and the like as text."""
    if hasattr(value, "detach"):
        return pytorch.tensor(value.detach().cpu().tolist(), dtype=pytorch.float64)
    return str(value).replace("mindtorch_v2.", "torch.")


def answer(question):
    """What a question gives; that there is none is an answer, too."""
    try:
        return plain(question())
    except NotImplementedError as error:
        return f"none: {error}".replace("mindtorch_v2.", "torch.")


def alike(ours, theirs, rtol=3e-5, atol=3e-6, what=""):
    if isinstance(theirs, pytorch.Tensor):
        assert isinstance(ours, pytorch.Tensor), f"{what}: {ours}"
        pytorch.testing.assert_close(
            ours, theirs, rtol=rtol, atol=atol, equal_nan=True, msg=lambda text: f"{what}: {text}"
        )
    else:
        assert ours == theirs, what


QUESTIONS = {
    "log_prob": lambda d, v: d.log_prob(v),
    "cdf": lambda d, v: d.cdf(v),
    "icdf": lambda d, v: d.icdf(v * 0.0 + 0.3),
    "mean": lambda d, v: d.mean,
    "mode": lambda d, v: d.mode,
    "variance": lambda d, v: d.variance,
    "stddev": lambda d, v: d.stddev,
    "entropy": lambda d, v: d.entropy(),
    "perplexity": lambda d, v: d.perplexity(),
    "batch_shape": lambda d, v: d.batch_shape,
    "event_shape": lambda d, v: d.event_shape,
    "support": lambda d, v: repr(d.support).splitlines()[0],
    "support's check": lambda d, v: d.support.check(v),
    "support's facts": lambda d, v: (d.support.event_dim, d.support.is_discrete),
    "has": lambda d, v: (d.has_rsample, d.has_enumerate_support),
    "enumerate_support": lambda d, v: d.enumerate_support(),
    "enumerate_support, not expanded": lambda d, v: d.enumerate_support(expand=False),
    "arg_constraints": lambda d, v: list(d.arg_constraints),
    "repr": lambda d, v: repr(d),
    "repr when used": lambda d, v: (d.log_prob(v), repr(d))[1],
}


@pytest.mark.parametrize("name", CASES)
def test_a_distribution_answers_as_pytorchs(name):
    found = []
    for torch in (mindtorch_v2, pytorch):
        found.append({})
        for question, ask in QUESTIONS.items():
            distribution, _, value = made(torch, name, exact(name))
            found[-1][question] = answer(lambda d=distribution, v=value, ask=ask: ask(d, v))
    for question, theirs in found[1].items():
        alike(found[0][question], theirs, what=question)


@pytest.mark.parametrize("name", [name for name in CASES if name not in OTHER_DRAWS])
def test_samples_are_pytorchs_numbers_for_the_same_seed(name):
    found = []
    for torch in (mindtorch_v2, pytorch):
        distribution, _, _ = made(torch, name)
        torch.manual_seed(3)
        found.append(plain(distribution.sample((3,))))
    alike(*found, rtol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_an_expanded_distribution_is_pytorchs(name):
    found = []
    for torch in (mindtorch_v2, pytorch):
        distribution, _, value = made(torch, name, exact(name))
        distribution.log_prob(value)  # parameters made on demand are expanded as well
        wide = distribution.expand((2, *distribution.batch_shape))
        torch.manual_seed(3)
        sample = wide.sample((3,))
        found.append([
            plain(wide.log_prob(value)), plain(wide.batch_shape), plain(wide.event_shape),
            plain(sample.shape if name in OTHER_DRAWS else sample),
            answer(lambda d=wide: d.mean), answer(lambda d=wide: d.variance), plain(repr(wide)),
        ])  # fmt: skip
    for ours, theirs in zip(*found, strict=True):
        alike(ours, theirs, rtol=1e-4, what=name)


@pytest.mark.parametrize("name", CASES)
def test_log_probabilities_have_pytorchs_gradients(name):
    found = []
    for torch in (mindtorch_v2, pytorch):
        distribution, parameters, value = made(torch, name, exact(name))
        value = value.requires_grad_() if value.is_floating_point() else value
        distribution.log_prob(value).sum().backward()
        found.append([p.grad if p.grad is None else plain(p.grad) for p in (*parameters, value)])
    for ours, theirs in zip(*found, strict=True):
        alike(ours, theirs, rtol=1e-5 if exact(name) == "float32" else 1e-6, atol=1e-7)


@pytest.mark.parametrize("name", [name for name in CASES if name not in OTHER_DRAWS])
def test_samples_have_pytorchs_gradients(name):
    found = []
    for torch in (mindtorch_v2, pytorch):
        distribution, parameters, _ = made(torch, name, exact(name))
        if not distribution.has_rsample:
            with pytest.raises(NotImplementedError):
                distribution.rsample()
            continue
        torch.manual_seed(5)
        sample = distribution.rsample((4,))
        weights = torch.linspace(0.5, 1.5, sample.numel(), dtype=sample.dtype).reshape(sample.shape)
        if sample.requires_grad:
            (sample * weights).sum().backward()
        found.append([p.grad if p.grad is None else plain(p.grad) for p in parameters])
    for ours, theirs in zip(*found, strict=True) if found else ():
        alike(ours, theirs, rtol=GAMMA_SLOPES, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_a_distribution_survives_pickle_and_copies(name):
    distribution, _, value = made(mindtorch_v2, name, requires_grad=False)
    wanted = plain(distribution.log_prob(value))
    for again in (pickle.loads(pickle.dumps(distribution)), copy.deepcopy(distribution)):
        alike(plain(again.log_prob(value)), wanted, rtol=0, atol=0)
        assert repr(again) == repr(distribution)


def test_everything_pytorch_has_is_here():
    theirs, ours = pytorch.distributions, mindtorch_v2.distributions
    assert set(ours.__all__) == set(theirs.__all__)
    covered = {name.split()[0] for name in CASES} | {
        "MixtureSameFamily",
        "TransformedDistribution",
        "ExponentialFamily",
    }
    for name in theirs.__all__:
        one, other = getattr(ours, name), getattr(theirs, name)
        if not inspect.isclass(other):
            continue
        assert one.__module__.split(".")[-1] == other.__module__.split(".")[-1], name
        assert list(inspect.signature(one).parameters) == list(inspect.signature(other).parameters), name
        missing = [attribute for attribute in dir(other) if not hasattr(one, attribute)]
        # __orig_bases__ and __parameters__ are what typing leaves in generic classes.
        assert not [m for m in missing if not m.startswith("__")], name
        if issubclass(other, theirs.Distribution) and other is not theirs.Distribution:
            assert name in covered, f"{name} has no case"
    for module in ("utils", "constraints", "transforms", "kl", "constraint_registry"):
        for name in getattr(theirs, module).__all__:
            assert hasattr(getattr(ours, module), name), f"{module}.{name}"


def own_init(torch):
    class Own(torch.distributions.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    return Own(torch.zeros(2))


def bare(torch):
    class Bare(torch.distributions.Distribution):
        arg_constraints = {}

    return Bare()


MISTAKES = {
    "a scale below 0": lambda d, t: d.Normal(0.0, -1.0),
    "a value outside": lambda d, t: d.Uniform(0.0, 1.0).log_prob(t.tensor(2.0)),
    "ends in the wrong order": lambda d, t: d.Uniform(1.0, 0.0),
    "neither probs nor logits": lambda d, t: d.Categorical(),
    "both probs and logits": lambda d, t: d.Bernoulli(t.tensor(0.5), t.tensor(0.5)),
    "probs without a dimension": lambda d, t: d.Categorical(t.tensor(1.0)),
    "a number as value": lambda d, t: d.Normal(0.0, 1.0).log_prob(1.0),
    "no matrix": lambda d, t: d.MultivariateNormal(t.zeros(2)),
    "two matrices": lambda d, t: d.MultivariateNormal(t.zeros(2), t.eye(2), t.eye(2)),
    "a vector for a matrix": lambda d, t: d.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2)),
    "a location without a dimension": lambda d, t: d.MultivariateNormal(t.tensor(0.0), t.eye(1)),
    "not positive definite": lambda d, t: d.MultivariateNormal(t.zeros(2), t.ones(2, 2)),
    "too many dimensions joined": lambda d, t: d.Independent(d.Normal(0.0, 1.0), 2),
    "no such divergence": lambda d, t: d.kl_divergence(d.Normal(0.0, 1.0), d.Categorical(t.ones(2))),
    "a probability above 1": lambda d, t: d.Bernoulli(t.tensor([0.5, 2.0])),
    "a continuous probability above 1": lambda d, t: d.ContinuousBernoulli(t.tensor([0.5, 2.0]), validate_args=True),
    "a geometric probability of 0": lambda d, t: d.Geometric(t.tensor([0.5, 0.0])),
    "a matrix of one": lambda d, t: d.LKJCholesky(1),
    "a beta concentration below 0": lambda d, t: d.Beta(-1.0, 1.0),
    "a chi-squared freedom below 0": lambda d, t: d.Chi2(-1.0),
    "a half-normal scale below 0": lambda d, t: d.HalfNormal(-1.0),
    "an angle's concentration below 0": lambda d, t: d.VonMises(0.0, -1.0),
    "low rank: width of the factor": lambda d, t: d.LowRankMultivariateNormal(t.ones(2), t.ones(3, 1), t.ones(2)),
    "low rank: width of the diagonal": lambda d, t: d.LowRankMultivariateNormal(t.ones(2), t.ones(2, 1), t.ones(3)),
    "low rank: a vector for the factor": lambda d, t: d.LowRankMultivariateNormal(t.ones(2), t.ones(2), t.ones(2)),
    "low rank: batches": lambda d, t: d.LowRankMultivariateNormal(t.ones(2, 2), t.ones(3, 2, 1), t.ones(2)),
    "mixture: not categorical": lambda d, t: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(0.0, 1.0)),
    "mixture: no distribution": lambda d, t: d.MixtureSameFamily(d.Categorical(t.ones(2)), 3),
    "mixture: counts": lambda d, t: d.MixtureSameFamily(d.Categorical(t.ones(2)), d.Normal(t.zeros(3), 1.0)),
    "mixture: batches": lambda d, t: d.MixtureSameFamily(d.Categorical(t.ones(4, 2)), d.Normal(t.zeros(3, 2), 1.0)),
    "few degrees of freedom": lambda d, t: d.Wishart(t.tensor(0.5), t.eye(2)),
    "no matrix for Wishart": lambda d, t: d.Wishart(3.0),
    "no transform": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
    "no list of transforms": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), [3]),
    "a scalar for vectors": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform()),
    "a wrong event": lambda d, t: d.Dirichlet(t.ones(3)).log_prob(t.ones(2) / 2),
    "a wrong batch": lambda d, t: d.Normal(t.zeros(3), 1.0).log_prob(t.ones(2)),
    "several counts": lambda d, t: d.Multinomial(t.tensor([2, 3]), t.ones(2)),
    "several counts enumerated": lambda d, t: d.Binomial(t.tensor([2.0, 3.0]), t.ones(2) / 2).enumerate_support(),
    "joined and enumerated": lambda d, t: d.Independent(d.Bernoulli(t.ones(2) / 2), 1).enumerate_support(),
    "text": lambda d, t: d.Normal("a", 1.0),
    "an own __init__, expanded": lambda d, t: own_init(t).expand((3, 2)),
    "a bare one, expanded": lambda d, t: bare(t).expand((3, 2)),
    "a bare one's mean": lambda d, t: bare(t).mean,
    "a bare one's mode": lambda d, t: bare(t).mode,
    "fewer tries in q": lambda d, t: d.kl_divergence(d.Binomial(2, t.tensor(0.5)), d.Binomial(3, t.tensor(0.5))),
    "joined differently": lambda d, t: d.kl_divergence(
        d.Independent(d.Normal(t.zeros(2), 1.0), 1), d.Independent(d.Normal(t.zeros(2), 1.0), 0)
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def checked_arguments():
    """PyTorch's torch.compile turns checking off for the whole process, and another test may have called it."""
    pytorch.distributions.Distribution.set_default_validate_args(__debug__)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_get_pytorchs_errors(mistake):
    texts = []
    for torch in (mindtorch_v2, pytorch):
        with pytest.raises(Exception) as error:
            MISTAKES[mistake](torch.distributions, torch)
        text = str(error.value).replace("mindtorch_v2", "torch").replace(f"{__name__}.", "")
        texts.append((error.type.__name__, text))
    assert texts[0] == texts[1]


def test_arguments_are_not_checked_when_nobody_wants_it():
    for torch in (mindtorch_v2, pytorch):
        unchecked = torch.distributions.Normal(0.0, -1.0, validate_args=False)
        assert unchecked.log_prob(torch.tensor(0.0)).isnan()
        assert not unchecked.expand((2,))._validate_args
        torch.distributions.Distribution.set_default_validate_args(False)
        try:
            torch.distributions.Normal(0.0, -1.0)
        finally:
            torch.distributions.Distribution.set_default_validate_args(__debug__)


def test_warnings_are_pytorchs():
    texts = []
    for torch in (mindtorch_v2, pytorch):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            torch.distributions.Normal(0.0, 1.0).sample_n(2)
            torch.distributions.Wishart(torch.tensor(1.5), torch.eye(2))
            torch.distributions.Distribution()
            bare(torch)._validate_sample(torch.zeros(()))
        texts.append([(w.category, str(w.message).replace("mindtorch_v2", "torch")) for w in heard])
    assert texts[0] == texts[1]
