"""torch.distributions: what can be known of it without PyTorch, on every device."""

import math

import pytest

import mindtorch_v2 as torch

D = torch.distributions
DEVICES = ["cpu", "npu"]


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def quantile_slope(cdf, log_density, value, parameter, step=1e-5):
    """dx/da at a fixed quantile by differences of the distribution function."""
    change = (cdf(parameter + step, value) - cdf(parameter - step, value)) / (2 * step)
    return -change / log_density(parameter, value).exp()


@pytest.mark.parametrize("concentration", [0.05, 0.5, 1.0, 3.0, 20.0, 200.0])
def test_gamma_samples_move_with_the_concentration_so_that_they_stay_at_their_quantile(concentration):
    a = torch.full((200,), concentration, dtype=torch.float64, requires_grad=True)
    sample = torch._standard_gamma(a)
    sample.sum().backward()
    with torch.no_grad():
        inside = (sample > 1e-3) & (
            sample < 1.5 * concentration + 5
        )  # differences lose all digits in the tails
        wanted = quantile_slope(
            torch.special.gammainc, lambda c, x: D.Gamma(c, 1.0).log_prob(x), sample[inside], a[inside]
        )
        assert inside.any()
        torch.testing.assert_close(a.grad[inside], wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(0.5, 0.5), (2.0, 1.0), (0.3, 4.0)])
def test_beta_samples_move_so_that_their_means_do_as_the_formula_says(shape, device):
    # d E[x] / d a, the gradient of the mean, is the mean of the samples' gradients.
    a, b = (torch.tensor(value, device=device, requires_grad=True) for value in shape)
    D.Beta(a, b).rsample((40_000,)).mean().backward()
    x, y = shape
    assert a.grad.item() == pytest.approx(y / (x + y) ** 2, rel=0.03)
    assert b.grad.item() == pytest.approx(-x / (x + y) ** 2, rel=0.03)


def test_slopes_of_uniform_beta_samples_are_known():
    # With b = 1 the distribution function is x^a, so dx/da = -x log(x) / a.
    a = torch.tensor([0.2, 1.0, 7.0], dtype=torch.float64).repeat_interleave(50).requires_grad_()
    x = D.Beta(a, torch.ones_like(a)).rsample()
    x.sum().backward()
    torch.testing.assert_close(a.grad, (-x * x.log() / a).detach(), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "make",
    [
        lambda t: D.Gamma(t([0.5, 2.0, 9.0]), t([1.5, 1.0, 0.5])),
        lambda t: D.Chi2(t([1.0, 3.0])),
        lambda t: D.FisherSnedecor(t([3.0, 6.0]), t([9.0, 17.0])),
        lambda t: D.StudentT(t([5.0, 9.0]), t(1.0), t(2.0)),
        lambda t: D.InverseGamma(t([5.0, 9.0]), t(2.0)),
        lambda t: D.Dirichlet(t([0.5, 2.0, 1.0])),
        lambda t: D.Kumaraswamy(t([0.5, 2.0]), t([1.5, 3.0])),
        lambda t: D.Laplace(t([0.5, 2.0]), t(2.0)),
        lambda t: D.Gumbel(t([0.5, 2.0]), t(2.0)),
        lambda t: D.ContinuousBernoulli(t([0.2, 0.5, 0.9])),
        lambda t: D.Wishart(t(5.0), t([[2.0, 0.5], [0.5, 1.0]])),
        lambda t: D.LowRankMultivariateNormal(t([0.0, 1.0]), t([[1.0], [0.5]]), t([0.5, 1.0])),
        lambda t: D.MixtureSameFamily(D.Categorical(t([0.3, 0.7])), D.Normal(t([0.0, 4.0]), t([1.0, 2.0]))),
        lambda t: D.LogNormal(t([0.0, 0.5]), t(0.4)),
        lambda t: D.Poisson(t([0.0, 0.3, 9.0, 11.0, 5000.0])),
        lambda t: D.Binomial(t([5.0, 30.0, 100.0, 2000.0]), t([0.9, 0.2, 0.5, 0.7])),
        lambda t: D.NegativeBinomial(t([2.0, 5.0]), t([0.5, 0.9])),
        lambda t: D.Geometric(t([0.5, 0.1])),
    ],
)
def test_samples_have_the_mean_and_the_variance_of_their_distribution(make, device):
    distribution = make(lambda numbers: torch.tensor(numbers, device=device))
    sample = distribution.sample((30_000,))
    assert sample.device.type == device
    mean, variance = distribution.mean, distribution.variance
    error = (variance / sample.shape[0]).sqrt()
    assert ((sample.mean(0) - mean).abs() < 6 * error + 1e-5).all()
    torch.testing.assert_close(sample.var(0), variance, rtol=0.25, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "make",
    [
        lambda t: D.Poisson(t(2.5)),
        lambda t: D.Poisson(t(14.0)),
        lambda t: D.Binomial(6, t(0.7)),
        lambda t: D.Binomial(60, t(0.4)),
        lambda t: D.Categorical(t([0.2, 0.5, 0.3])),
    ],
)
def test_numbers_are_drawn_as_often_as_their_probabilities_say(make, device):
    distribution = make(lambda numbers: torch.tensor(numbers, device=device))
    count = 50_000
    sample = distribution.sample((count,)).float()
    values = torch.arange(50.0, device=device)
    values = values[distribution.support.check(values)]
    wanted = distribution.log_prob(values).exp() * count
    often = wanted > 8
    found = torch.stack([(sample == value).sum() for value in values[often]])
    surprise = ((found - wanted[often]) ** 2 / wanted[often]).sum().item()
    freedom = int(often.sum())
    assert surprise < freedom + 6 * math.sqrt(2 * freedom)


def test_rows_of_correlation_factors_have_length_1_and_marginals_as_the_formula_says():
    sample = D.LKJCholesky(3, torch.tensor([1.0, 5.0])).sample((20_000,))
    assert D.constraints.corr_cholesky.check(sample).all()
    correlation = (sample @ sample.mT)[..., 1, 0]
    # (r + 1) / 2 is beta distributed with equal parameters: of variance 1 / (2 eta + dim - 1), twice doubled.
    wanted = 1 / (2 * torch.tensor([1.0, 5.0]) + 2)
    torch.testing.assert_close(correlation.var(0), wanted, rtol=0.05, atol=0)


@pytest.mark.parametrize("device", DEVICES)
def test_angles_lie_around_their_centre(device):
    distribution = D.VonMises(
        torch.tensor([0.5, -3.0], device=device), torch.tensor([4.0, 0.5], device=device)
    )
    sample = distribution.sample((20_000,))
    assert (sample.abs() <= math.pi).all()
    resultant = torch.cos(sample - distribution.loc).mean(0)
    torch.testing.assert_close(resultant, 1 - distribution.variance, rtol=0, atol=0.02)


@pytest.mark.parametrize(
    "p, q",
    [
        (D.Wishart(4.5, torch.tensor([[2.0, 0.5], [0.5, 1.0]])), D.Wishart(5.0, torch.eye(2))),
        (D.Gamma(2.0, 1.5), D.Gumbel(0.5, 1.5)),
        (D.Beta(2.0, 1.5), D.ContinuousBernoulli(torch.tensor(0.8))),
        (D.Uniform(0.2, 0.9), D.Beta(2.0, 1.5)),
        (D.Normal(0.3, 1.2), D.Laplace(-0.5, 2.0)),
        (D.Gumbel(0.3, 1.2), D.Gumbel(-0.5, 2.0)),
    ],
)  # fmt: skip
def test_a_divergence_is_the_mean_of_the_difference_of_the_log_probabilities(p, q):
    sample = p.sample((60_000,))
    wanted = (p.log_prob(sample) - q.log_prob(sample)).mean().item()
    assert D.kl_divergence(p, q).item() == pytest.approx(wanted, abs=0.03)
    assert D.kl_divergence(p, q).item() > 0


def test_an_exponential_family_gives_entropy_and_divergence_with_gradients_from_its_normalizer():
    class Own(D.ExponentialFamily):
        """The exponential distribution, of which nothing but the normalizer is said."""

        arg_constraints = {"rate": D.constraints.positive}
        support = D.constraints.nonnegative
        _mean_carrier_measure = 0

        def __init__(self, rate):
            self.rate = rate
            super().__init__(rate.shape)

        @property
        def _natural_params(self):
            return (-self.rate,)

        def _log_normalizer(self, x):
            return -torch.log(-x)

    rate = torch.tensor([0.5, 2.0], requires_grad=True)
    known, own = D.Exponential(rate), Own(rate)
    torch.testing.assert_close(own.entropy(), known.entropy())
    other = torch.tensor([1.0, 3.0])
    found = D.kl_divergence(own, Own(other))
    wanted = D.kl_divergence(known, D.Exponential(other))
    torch.testing.assert_close(found, wanted)
    (slope,) = torch.autograd.grad(found.sum(), rate)
    (wanted_slope,) = torch.autograd.grad(wanted.sum(), rate)
    torch.testing.assert_close(slope, wanted_slope)


def test_a_parameter_that_needs_no_broadcast_is_kept_itself():
    loc = torch.zeros(3, requires_grad=True)
    assert D.Normal(loc, 1.0).loc is loc


# What people build on it.


@pytest.mark.parametrize("device", DEVICES)
def test_variational_inference_finds_a_posterior_that_is_known(device):
    # Poisson counts with a gamma prior have a gamma posterior: of shape 2 + 24 and rate 1 + 6.
    counts = torch.tensor([3.0, 5.0, 4.0, 2.0, 6.0, 4.0], device=device)
    prior = D.Gamma(torch.tensor(2.0, device=device), torch.tensor(1.0, device=device))
    logs = torch.tensor([1.0, 0.0], device=device, requires_grad=True)
    optimizer = torch.optim.Adam([logs], lr=0.05)
    for _ in range(250):
        optimizer.zero_grad()
        shape, rate = logs.exp()
        guide = D.Gamma(shape, rate)
        sample = guide.rsample((64, 1))
        loss = -(D.Poisson(sample).log_prob(counts).sum(-1).mean()) + D.kl_divergence(guide, prior)
        loss.backward()
        optimizer.step()
    shape, rate = logs.detach().exp().tolist()
    assert shape / rate == pytest.approx(26 / 7, rel=0.05)
    assert math.sqrt(shape) / rate == pytest.approx(math.sqrt(26) / 7, rel=0.2)


@pytest.mark.parametrize("device", DEVICES)
def test_a_flow_learns_to_move_a_normal_distribution(device):
    target = D.LogNormal(torch.tensor([0.5, -0.3], device=device), torch.tensor([0.3, 0.6], device=device))
    loc = torch.zeros(2, device=device, requires_grad=True)
    log_scale = torch.zeros(2, device=device, requires_grad=True)
    optimizer = torch.optim.Adam([loc, log_scale], lr=0.05)
    base = D.Independent(D.Normal(torch.zeros(2, device=device), torch.ones(2, device=device)), 1)
    data = target.sample((512,))
    for _ in range(150):
        optimizer.zero_grad()
        flow = D.TransformedDistribution(
            base, D.ComposeTransform([D.AffineTransform(loc, log_scale.exp(), event_dim=1), D.ExpTransform()])
        )
        loss = -flow.log_prob(data).mean()
        loss.backward()
        optimizer.step()
    logs = data.log()
    torch.testing.assert_close(loc.detach(), logs.mean(0), rtol=0, atol=0.02)
    torch.testing.assert_close(log_scale.detach().exp(), logs.std(0), rtol=0.05, atol=0)
    assert flow.batch_shape == () and flow.event_shape == (2,)


@pytest.mark.parametrize("device", DEVICES)
def test_langevin_steps_in_unconstrained_space_sample_a_constrained_distribution(device):
    target = D.Gamma(torch.tensor(3.0, device=device), torch.tensor(2.0, device=device))
    into = D.biject_to(target.support)
    position = torch.zeros(2000, device=device)
    for _ in range(150):
        position.requires_grad_()
        value = into(position)
        log_density = target.log_prob(value) + into.log_abs_det_jacobian(position, value)
        (slope,) = torch.autograd.grad(log_density.sum(), position)
        position = position.detach() + 0.05 * slope + math.sqrt(0.1) * torch.randn(2000, device=device)
    sample = into(position)
    assert sample.mean().item() == pytest.approx(1.5, abs=0.1)
    assert sample.std().item() == pytest.approx(math.sqrt(3) / 2, abs=0.12)


@pytest.mark.parametrize("device", DEVICES)
def test_a_mixture_is_fitted_by_its_likelihood(device):
    data = torch.cat([torch.randn(400) - 2, torch.randn(600) * 0.5 + 3]).to(device)
    logits = torch.zeros(2, device=device, requires_grad=True)
    loc = torch.tensor([-1.0, 1.0], device=device, requires_grad=True)
    log_scale = torch.zeros(2, device=device, requires_grad=True)
    optimizer = torch.optim.Adam([logits, loc, log_scale], lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        mixture = D.MixtureSameFamily(D.Categorical(logits=logits), D.Normal(loc, log_scale.exp()))
        (-mixture.log_prob(data).mean()).backward()
        optimizer.step()
    assert loc.tolist() == pytest.approx([-2.0, 3.0], abs=0.15)
    assert logits.softmax(-1).tolist() == pytest.approx([0.4, 0.6], abs=0.05)


def test_programs_derive_distributions_with_an_expand_of_their_own():
    class Shifted(D.Normal):
        def __init__(self, loc, shift):
            self.shift = shift
            super().__init__(loc + shift, 1.0)

        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Shifted, _instance)
            new.shift = self.shift.expand(batch_shape)
            return super().expand(batch_shape, _instance=new)

    wide = Shifted(torch.zeros(2), torch.tensor(3.0)).expand((4, 2))
    assert type(wide) is Shifted
    assert wide.shift.shape == wide.loc.shape == wide.sample().shape == (4, 2)


def test_a_divergence_is_registered_for_classes_with_another_root():
    class Own:
        pass

    from mindtorch_v2.distributions import kl, register_kl

    try:
        register_kl(Own, torch.distributions.Normal)(lambda p, q: "own")
        assert torch.distributions.kl_divergence(Own(), torch.distributions.Normal(0.0, 1.0)) == "own"
    finally:
        del kl._KL_REGISTRY[Own, torch.distributions.Normal]
        kl._KL_MEMOIZE.clear()
    with pytest.raises(TypeError, match="Expected type_q to be a class"):
        register_kl(Own, Own())
