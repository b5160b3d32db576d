"""torch.distributions: log probabilities, statistics and samples are PyTorch's."""

import pytest
import torch as pytorch

import mindtorch_v2


def covariance(t):
    return t.tensor([[2.0, 0.5], [0.5, 1.0]])


# name -> how it is made, values to ask for
CASES = {
    "Normal": (lambda t, d: d.Normal(t.tensor([0.0, 1.0]), t.tensor([1.0, 2.0])), [0.3, -1.0]),
    "Uniform": (lambda t, d: d.Uniform(t.tensor([0.0, 1.0]), 3.0), [0.5, 2.0]),
    "Bernoulli": (lambda t, d: d.Bernoulli(t.tensor([0.3, 0.9])), [0.0, 1.0]),
    "Bernoulli by logits": (lambda t, d: d.Bernoulli(logits=t.tensor([0.3, -2.0])), [1.0, 1.0]),
    "Categorical": (lambda t, d: d.Categorical(t.tensor([[0.2, 0.3, 0.5], [3.0, 1.0, 1.0]])), [2, 0]),
    "Categorical by logits": (lambda t, d: d.Categorical(logits=t.tensor([1.0, 2.0, -1.0])), [2, 0]),
    "OneHotCategorical": (lambda t, d: d.OneHotCategorical(t.tensor([0.2, 0.8])), [[0.0, 1.0]]),
    "Exponential": (lambda t, d: d.Exponential(t.tensor([0.5, 2.0])), [0.1, 3.0]),
    "Laplace": (lambda t, d: d.Laplace(t.tensor([0.0, 1.0]), 2.0), [0.1, 3.0]),
    "Cauchy": (lambda t, d: d.Cauchy(t.tensor([0.0, 1.0]), 2.0), [0.1, 3.0]),
    "Gumbel": (lambda t, d: d.Gumbel(t.tensor([0.0, 1.0]), 2.0), [0.1, 3.0]),
    "Gamma": (lambda t, d: d.Gamma(t.tensor([0.5, 2.0]), 1.5), [0.1, 3.0]),
    "Chi2": (lambda t, d: d.Chi2(t.tensor([1.0, 3.0])), [0.1, 3.0]),
    "Beta": (lambda t, d: d.Beta(t.tensor([0.5, 2.0]), 1.5), [0.1, 0.6]),
    "Dirichlet": (lambda t, d: d.Dirichlet(t.tensor([0.5, 2.0, 1.0])), [[0.2, 0.3, 0.5]]),
    "StudentT": (lambda t, d: d.StudentT(t.tensor([1.5, 4.0]), 1.0, 2.0), [0.1, 3.0]),
    "Poisson": (lambda t, d: d.Poisson(t.tensor([0.5, 4.0])), [0.0, 3.0]),
    "Geometric": (lambda t, d: d.Geometric(t.tensor([0.5, 0.1])), [0.0, 3.0]),
    "Binomial": (lambda t, d: d.Binomial(5, t.tensor([0.5, 0.1])), [0.0, 3.0]),
    "NegativeBinomial": (lambda t, d: d.NegativeBinomial(t.tensor([2.0, 5.0]), t.tensor([0.5, 0.1])), [0.0, 3.0]),
    "Multinomial": (lambda t, d: d.Multinomial(4, t.tensor([0.5, 0.3, 0.2])), [[1.0, 2.0, 1.0]]),
    "MultivariateNormal": (lambda t, d: d.MultivariateNormal(t.tensor([0.0, 1.0]), covariance(t)), [[0.3, 0.2]]),
    "MultivariateNormal by precision": (
        lambda t, d: d.MultivariateNormal(t.zeros(2), precision_matrix=covariance(t)), [[0.3, 0.2]],
    ),
    "LogNormal": (lambda t, d: d.LogNormal(t.tensor([0.0, 1.0]), 0.5), [0.5, 2.0]),
    "HalfNormal": (lambda t, d: d.HalfNormal(t.tensor([0.5, 1.0])), [0.5, 2.0]),
    "Pareto": (lambda t, d: d.Pareto(t.tensor([0.5, 1.0]), 3.0), [0.7, 2.0]),
    "Weibull": (lambda t, d: d.Weibull(t.tensor([0.5, 1.0]), t.tensor([2.0, 3.0])), [0.7, 2.0]),
    "HalfCauchy": (lambda t, d: d.HalfCauchy(t.tensor([0.5, 1.0])), [0.5, 2.0]),
    "RelaxedBernoulli": (lambda t, d: d.RelaxedBernoulli(t.tensor(0.7), t.tensor([0.3, 0.8])), [0.5, 0.2]),
    "RelaxedOneHotCategorical": (
        lambda t, d: d.RelaxedOneHotCategorical(t.tensor(0.7), t.tensor([0.3, 0.7])), [[0.5, 0.5]],
    ),
    "LowRankMultivariateNormal": (
        lambda t, d: d.LowRankMultivariateNormal(t.zeros(2), t.tensor([[1.0], [0.5]]), t.tensor([0.5, 1.0])),
        [[0.5, 0.2]],
    ),
    "Wishart": (lambda t, d: d.Wishart(t.tensor(3.5), covariance(t)), [[[2.0, 0.3], [0.3, 1.0]]]),
    "Independent": (lambda t, d: d.Independent(d.Normal(t.zeros(2, 3), 1.0), 1), [[0.5, 2.0, 1.0]] * 2),
    "a transformed one": (
        lambda t, d: d.TransformedDistribution(
            d.Normal(t.zeros(2), 1.0), [d.AffineTransform(1.0, 2.0), d.TanhTransform(), d.AffineTransform(0.0, 3.0)]
        ), [0.5, 2.0],
    ),
    "a mixture": (
        lambda t, d: d.MixtureSameFamily(
            d.Categorical(t.tensor([0.3, 0.7])), d.Normal(t.tensor([0.0, 1.0]), t.tensor([1.0, 2.0]))
        ), [0.5, 2.0],
    ),
}  # fmt: skip
# Drawn by rejection, or through multinomial counts: the same distribution, not always the same numbers.
OWN_SAMPLES = {"Wishart", "Gamma", "Chi2", "Beta", "Dirichlet", "StudentT", "NegativeBinomial"}


def facts(name, torch):
    make, values = CASES[name]
    distribution = make(torch, torch.distributions)
    value = torch.tensor(values)
    found = {"log_prob": distribution.log_prob(value), "repr": repr(distribution)}
    for statistic in ("mean", "variance", "stddev", "mode", "batch_shape", "event_shape"):
        try:
            found[statistic] = getattr(distribution, statistic)
        except NotImplementedError:
            found[statistic] = "none"
    for question, arguments in (("entropy", ()), ("cdf", (value,)), ("icdf", (value.float() * 0 + 0.3,))):
        try:
            found[question] = getattr(distribution, question)(*arguments)
        except NotImplementedError:
            found[question] = "none"
    torch.manual_seed(3)
    found["shape"] = distribution.sample((4,)).shape
    found["expanded"] = distribution.expand((1, *distribution.batch_shape)).log_prob(value)
    if name not in OWN_SAMPLES:
        torch.manual_seed(3)
        found["samples"] = distribution.sample((3,))
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_distribution_is_pytorchs(name):
    ours, theirs = facts(name, mindtorch_v2), facts(name, pytorch)
    for key, wanted in theirs.items():
        if isinstance(wanted, pytorch.Tensor):
            found = pytorch.tensor(ours[key].tolist(), dtype=wanted.dtype)
            pytorch.testing.assert_close(
                found, wanted, rtol=2e-5, atol=2e-6, equal_nan=True, msg=lambda m, k=key: f"{k}: {m}"
            )
        elif isinstance(wanted, str) and key != "repr":
            pass  # PyTorch has none; ours may
        else:
            assert str(ours[key]) == str(wanted), key


@pytest.mark.parametrize(
    "name", ["Normal", "Bernoulli", "Categorical", "Exponential", "Gamma", "Beta", "Laplace", "Uniform", "Poisson",
             "Geometric", "MultivariateNormal", "Independent", "OneHotCategorical", "Dirichlet"],
)  # fmt: skip
def test_divergences_are_pytorchs(name):
    found = []
    for torch in (mindtorch_v2, pytorch):
        make = CASES[name][0]
        first = make(torch, torch.distributions)
        second = {"Normal": lambda t, d: d.Normal(t.tensor(0.5), 3.0)}.get(name, make)(
            torch, torch.distributions
        )
        found.append(torch.distributions.kl_divergence(first, second).tolist())
    assert found[0] == pytest.approx(found[1], abs=1e-5)


def test_samples_can_be_differentiated_where_they_can_in_pytorch():
    for torch in (mindtorch_v2, pytorch):
        loc = torch.tensor(1.0, requires_grad=True)
        torch.distributions.Normal(loc, 2.0).rsample((3,)).sum().backward()
        assert loc.grad.item() == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda d, t: d.Normal(0.0, -1.0),
        lambda d, t: d.Uniform(0.0, 1.0).log_prob(t.tensor(2.0)),
        lambda d, t: d.Uniform(1.0, 0.0),
        lambda d, t: d.Categorical(),
        lambda d, t: d.Categorical(t.tensor(1.0)),
        lambda d, t: d.Normal(0.0, 1.0).log_prob(1.0),
        lambda d, t: d.MultivariateNormal(t.zeros(2)),
        lambda d, t: d.Independent(d.Normal(0.0, 1.0), 2),
        lambda d, t: d.kl_divergence(d.Normal(0.0, 1.0), d.Categorical(t.ones(2))),
        lambda d, t: d.Bernoulli(t.tensor([0.5, 2.0])),
    ],
)
def test_bad_arguments_get_pytorchs_errors(make):
    texts = []
    for torch in (mindtorch_v2, pytorch):
        with pytest.raises((ValueError, NotImplementedError, TypeError, AttributeError)) as error:
            make(torch.distributions, torch)
        texts.append(f"{error.type.__name__}: {error.value}".replace("mindtorch_v2", "torch"))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("registry", ["transform_to", "biject_to"])
@pytest.mark.parametrize(
    "name", ["real", "positive", "unit_interval", "simplex", "lower_cholesky", "boolean"]
)
def test_sets_are_reached_by_pytorchs_transforms(registry, name):
    texts = []
    for torch in (mindtorch_v2, pytorch):
        try:
            transform = getattr(torch.distributions, registry)(getattr(torch.distributions.constraints, name))
            texts.append((repr(transform), transform(torch.tensor([[0.3, 1.0], [0.2, -1.0]])).tolist()))
        except NotImplementedError as error:
            texts.append(str(error))
    if "StickBreaking" in str(texts[1]) or isinstance(texts[1], str):
        assert "Cannot transform" in texts[0]
    else:
        assert texts[0][0] == texts[1][0]
        assert sum(texts[0][1], []) == pytest.approx(sum(texts[1][1], []), abs=1e-5)
