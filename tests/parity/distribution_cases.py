"""Samples of every distribution, made alike with either library: name -> (how it is made, values to ask for).

`p` makes a parameter from numbers; what it made can be asked for its gradient.
"""

COVARIANCE = [[2.0, 0.5], [0.5, 1.0]]
FACTOR = [[1.0, 0.0], [0.3, 0.8]]

CASES = {
    "Bernoulli": (lambda d, p: d.Bernoulli(p([0.3, 0.9])), [0.0, 1.0]),
    "Bernoulli by logits": (lambda d, p: d.Bernoulli(logits=p([0.3, -2.0])), [1.0, 1.0]),
    "Bernoulli at the ends": (lambda d, p: d.Bernoulli(p([0.0, 1.0, 0.5])), [0.0, 1.0, 1.0]),
    "Beta": (lambda d, p: d.Beta(p([0.5, 2.0]), p(1.5)), [0.1, 0.6]),
    "Beta below 1": (lambda d, p: d.Beta(p([0.5, 0.2]), p([0.5, 0.9])), [0.1, 0.6]),
    "Binomial": (lambda d, p: d.Binomial(5, p([0.5, 0.1])), [0.0, 3.0]),
    "Binomial by logits": (lambda d, p: d.Binomial(p([5.0, 9.0]), logits=p([0.5, -0.1])), [0.0, 3.0]),
    "Categorical": (lambda d, p: d.Categorical(p([[0.2, 0.3, 0.5], [3.0, 1.0, 1.0]])), [2, 0]),
    "Categorical by logits": (lambda d, p: d.Categorical(logits=p([1.0, 2.0, -1.0])), [2, 0]),
    "Cauchy": (lambda d, p: d.Cauchy(p([0.0, 1.0]), p(2.0)), [0.1, 3.0]),
    "Chi2": (lambda d, p: d.Chi2(p([1.0, 3.0])), [0.1, 3.0]),
    "ContinuousBernoulli": (lambda d, p: d.ContinuousBernoulli(p([0.2, 0.5, 0.9])), [0.1, 0.4, 1.0]),
    "ContinuousBernoulli by logits": (
        lambda d, p: d.ContinuousBernoulli(logits=p([-2.0, 0.001, 3.0])),
        [0.0, 0.4, 0.9],
    ),
    "Dirichlet": (lambda d, p: d.Dirichlet(p([[0.5, 2.0, 1.0], [0.1, 0.2, 0.3]])), [[0.2, 0.3, 0.5]] * 2),
    "Exponential": (lambda d, p: d.Exponential(p([0.5, 2.0])), [0.1, 3.0]),
    "FisherSnedecor": (lambda d, p: d.FisherSnedecor(p([1.0, 6.0]), p([3.0, 7.0])), [0.1, 3.0]),
    "Gamma": (lambda d, p: d.Gamma(p([0.5, 2.0]), p(1.5)), [0.1, 3.0]),
    "Gamma far apart": (
        lambda d, p: d.Gamma(p([0.01, 0.3, 9.0, 400.0]), p([1.0, 0.1, 2.0, 3.0])),
        [0.1, 3.0, 2.0, 100.0],
    ),
    "GeneralizedPareto": (
        lambda d, p: d.GeneralizedPareto(p([0.5, 0.1, 0.2, 0.0]), p(2.0), p([0.2, 0.0, -0.3, 1.4])),
        [1.0, 2.0, 0.3, 4.0],
    ),
    "Geometric": (lambda d, p: d.Geometric(p([0.5, 0.1, 1.0])), [0.0, 3.0, 0.0]),
    "Geometric by logits": (lambda d, p: d.Geometric(logits=p([0.5, -1.1])), [0.0, 3.0]),
    "Gumbel": (lambda d, p: d.Gumbel(p([0.0, 1.0]), p(2.0)), [0.1, 3.0]),
    "HalfCauchy": (lambda d, p: d.HalfCauchy(p([0.5, 1.0])), [0.5, 2.0]),
    "HalfNormal": (lambda d, p: d.HalfNormal(p([0.5, 1.0])), [0.5, 2.0]),
    "Independent": (
        lambda d, p: d.Independent(d.Normal(p([[0.0] * 3, [1.0] * 3]), p(1.0)), 1),
        [[0.5, 2.0, 1.0]] * 2,
    ),
    "Independent of nothing": (lambda d, p: d.Independent(d.Bernoulli(p([0.2, 0.4])), 0), [1.0, 0.0]),
    "InverseGamma": (lambda d, p: d.InverseGamma(p([0.5, 3.0]), p(1.5)), [0.1, 3.0]),
    "Kumaraswamy": (lambda d, p: d.Kumaraswamy(p([0.5, 2.0]), p([1.5, 3.0])), [0.1, 0.6]),
    "LKJCholesky": (lambda d, p: d.LKJCholesky(2, p([1.0, 2.5])), [[[1.0, 0.0], [0.6, 0.8]]] * 2),
    "LKJCholesky of four": (
        lambda d, p: d.LKJCholesky(4, p(0.7)),
        [[1.0, 0.0, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0], [0.0, 0.6, 0.8, 0.0], [0.5, 0.5, 0.5, 0.5]],
    ),
    "Laplace": (lambda d, p: d.Laplace(p([0.0, 1.0]), p(2.0)), [0.1, 3.0]),
    "LogNormal": (lambda d, p: d.LogNormal(p([0.0, 1.0]), p(0.5)), [0.5, 2.0]),
    "LogisticNormal": (
        lambda d, p: d.LogisticNormal(p([[0.0, 1.0], [0.5, -1.0]]), p([0.5, 2.0])),
        [[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]],
    ),
    "LogisticNormal of one": (lambda d, p: d.LogisticNormal(p(0.3), p(0.5)), [0.2, 0.8]),
    "LowRankMultivariateNormal": (
        lambda d, p: d.LowRankMultivariateNormal(
            p([[0.0, 0.3], [1.0, 1.0]]), p([[1.0], [0.5]]), p([0.5, 1.0])
        ),
        [[0.5, 0.2]],
    ),
    "Mixture": (
        lambda d, p: d.MixtureSameFamily(
            d.Categorical(p([0.3, 0.7])), d.Normal(p([0.0, 1.0]), p([1.0, 2.0]))
        ),
        [0.5, 2.0],
    ),
    "Mixture of vectors": (
        lambda d, p: d.MixtureSameFamily(
            d.Categorical(p([[0.3, 0.7], [0.5, 0.5]])),
            d.Independent(d.Normal(p([[[0.0, 1.0, 2.0], [1.0, 0.0, 0.5]]] * 2), p(2.0)), 1),
        ),
        [[0.5, 2.0, 1.0], [0.1, 0.2, 0.3]],
    ),
    "Multinomial": (lambda d, p: d.Multinomial(4, p([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])), [[1.0, 2.0, 1.0]]),
    "Multinomial by logits": (lambda d, p: d.Multinomial(3, logits=p([0.5, 0.3, -2.0])), [[1.0, 2.0, 0.0]]),
    "MultivariateNormal": (lambda d, p: d.MultivariateNormal(p([0.0, 1.0]), p(COVARIANCE)), [[0.3, 0.2]]),
    "MultivariateNormal by precision": (
        lambda d, p: d.MultivariateNormal(p([[0.0, 0.0], [0.4, 0.5]]), precision_matrix=p(COVARIANCE)),
        [[0.3, 0.2]],
    ),
    "MultivariateNormal by factor": (
        lambda d, p: d.MultivariateNormal(p([0.0, 0.0]), scale_tril=p([FACTOR, COVARIANCE]).tril()),
        [[0.3, 0.2]],
    ),
    "NegativeBinomial": (lambda d, p: d.NegativeBinomial(p([2.0, 5.0]), p([0.5, 0.1])), [0.0, 3.0]),
    "NegativeBinomial by logits": (
        lambda d, p: d.NegativeBinomial(p([2.0, 0.0]), logits=p([0.5, 0.1])),
        [1.0, 0.0],
    ),
    "Normal": (lambda d, p: d.Normal(p([0.0, 1.0]), p([1.0, 2.0])), [0.3, -1.0]),
    "Normal of numbers": (lambda d, p: d.Normal(0, 2), [0.3, -1.0]),
    "OneHotCategorical": (lambda d, p: d.OneHotCategorical(p([[0.2, 0.8], [0.6, 0.4]])), [[0.0, 1.0]]),
    "OneHotCategoricalStraightThrough": (
        lambda d, p: d.OneHotCategoricalStraightThrough(logits=p([0.2, 0.8])),
        [[0.0, 1.0]],
    ),
    "Pareto": (lambda d, p: d.Pareto(p([0.5, 1.0, 1.0]), p([3.0, 1.5, 0.8])), [0.7, 2.0, 3.0]),
    "Poisson": (lambda d, p: d.Poisson(p([0.5, 4.0, 30.0])), [0.0, 3.0, 20.0]),
    "RelaxedBernoulli": (lambda d, p: d.RelaxedBernoulli(p(0.7), p([0.3, 0.8])), [0.5, 0.2]),
    "RelaxedBernoulli by logits": (
        lambda d, p: d.RelaxedBernoulli(p(0.7), logits=p([0.3, -1.8])),
        [0.5, 0.2],
    ),
    "RelaxedOneHotCategorical": (
        lambda d, p: d.RelaxedOneHotCategorical(p(0.7), p([0.3, 0.7])),
        [[0.5, 0.5]],
    ),
    "StudentT": (lambda d, p: d.StudentT(p([0.5, 1.5, 4.0]), p(1.0), p(2.0)), [0.1, 3.0, 1.0]),
    "Transformed": (
        lambda d, p: d.TransformedDistribution(
            d.Normal(p([0.0, 0.0]), p(1.0)),
            [d.AffineTransform(p(1.0), p(-2.0)), d.TanhTransform(), d.AffineTransform(0.0, 3.0)],
        ),
        [0.5, 2.0],
    ),
    "Transformed vectors": (
        lambda d, p: d.TransformedDistribution(
            d.Normal(p([[0.0, 0.5], [0.3, 0.1]]), p(1.0)),
            [d.AffineTransform(0.1, p([[2.0, 3.0]])), d.StickBreakingTransform()],
        ),
        [[0.5, 0.2, 0.3]],
    ),
    "Transformed with more of a batch": (
        lambda d, p: d.TransformedDistribution(
            d.Normal(p(0.0), p(1.0)), d.AffineTransform(p([1.0, 2.0]), 2.0)
        ),
        [0.5, 2.0],
    ),
    "Uniform": (lambda d, p: d.Uniform(p([0.0, 1.0]), p(3.0)), [0.5, 2.0]),
    "VonMises": (lambda d, p: d.VonMises(p([0.0, 1.0, -2.0]), p([0.1, 4.0, 60.0])), [0.5, 2.0, -2.1]),
    "Weibull": (lambda d, p: d.Weibull(p([0.5, 1.0]), p([2.0, 3.0])), [0.7, 2.0]),
    "Wishart": (lambda d, p: d.Wishart(p(3.5), p(COVARIANCE)), [[[2.0, 0.3], [0.3, 1.0]]]),
    "Wishart by factor": (
        lambda d, p: d.Wishart(p([3.5, 6.0]), scale_tril=p(FACTOR).tril()),
        [[[2.0, 0.3], [0.3, 1.0]]],
    ),
    "Wishart by precision": (
        lambda d, p: d.Wishart(p(3.5), precision_matrix=p(COVARIANCE)),
        [[[2.0, 0.3], [0.3, 1.0]]],
    ),
}


def made(torch, name, dtype="float32", device="cpu", requires_grad=True):
    """The distribution, its parameters, and values in its support."""
    make, values = CASES[name]
    parameters = []

    def parameter(numbers):
        leaf = torch.tensor(numbers, dtype=getattr(torch, dtype), device=device, requires_grad=requires_grad)
        parameters.append(leaf)
        return leaf

    found = make(torch.distributions, parameter)
    value = torch.tensor(values, device=device)
    if value.is_floating_point():
        value = torch.tensor(values, device=device, dtype=getattr(torch, dtype))
    return found, parameters, value
