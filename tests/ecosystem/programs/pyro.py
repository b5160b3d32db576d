"""Bayesian models: variational inference, Hamiltonian Monte Carlo, a mixture whose labels are summed out."""

import pyro
import pyro.distributions as dist
import torch
from pyro import poutine
from pyro.infer import HMC, MCMC, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDelta, AutoNormal
from pyro.nn import PyroModule, PyroSample
from pyro.optim import ClippedAdam


class Regression(PyroModule):
    def __init__(self, device):
        super().__init__()
        self.linear = PyroModule[torch.nn.Linear](2, 1)
        zero = torch.zeros((), device=device)
        self.linear.weight = PyroSample(dist.Normal(zero, 1.0).expand([1, 2]).to_event(2))
        self.linear.bias = PyroSample(dist.Normal(zero, 10.0).expand([1]).to_event(1))

    def forward(self, x, y=None):
        sigma = pyro.sample("sigma", dist.LogNormal(torch.zeros((), device=x.device), 0.5))
        mean = self.linear(x).squeeze(-1)
        with pyro.plate("data", x.shape[0]):
            return pyro.sample("obs", dist.Normal(mean, sigma), obs=y)


@config_enumerate
def mixture(data):
    weights = pyro.sample("weights", dist.Dirichlet(0.5 * torch.ones(2, device=data.device)))
    scale = pyro.sample("scale", dist.LogNormal(torch.zeros((), device=data.device), 2.0))
    with pyro.plate("components", 2):
        locs = pyro.sample("locs", dist.Normal(torch.zeros((), device=data.device), 10.0))
    with pyro.plate("data", len(data)):
        label = pyro.sample("label", dist.Categorical(weights))
        pyro.sample("obs", dist.Normal(locs[label], scale), obs=data)


def run(device):
    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    x = torch.randn(30, 2)
    y = x @ torch.tensor([1.0, -2.0]) + 0.5 + 0.1 * torch.randn(30)

    # The most likely parameters, on the device.
    there = Regression(device).to(device)
    delta = AutoDelta(there, init_loc_fn=pyro.infer.autoguide.init_to_median(num_samples=1))
    delta = AutoDelta(there, init_loc_fn=lambda site: torch.full(site["fn"].shape(), 0.5, device=device))
    svi = SVI(there, delta, ClippedAdam({"lr": 0.05}), Trace_ELBO())
    modes = [svi.step(x.to(device), y.to(device)) for _ in range(15)]
    weight = delta.median()["linear.weight"]

    # A mixture: labels are summed out exactly.
    data = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0], device=device)
    start = {
        "weights": torch.tensor([0.5, 0.5]),
        "scale": torch.tensor(2.0),
        "locs": torch.tensor([1.0, 9.0]),
    }
    guide = AutoDelta(
        poutine.block(mixture, expose=["weights", "locs", "scale"]),
        init_loc_fn=lambda site: start[site["name"]].to(device),
    )
    enumerated = SVI(mixture, guide, pyro.optim.Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
    mixed = [enumerated.step(data) for _ in range(10)]
    locs = pyro.param("AutoDelta.locs")

    # Samples of a seed: numbers of the cpu's generator.
    pyro.set_rng_seed(1)
    here = Regression("cpu")
    normal = AutoNormal(here, init_scale=0.1)
    svi = SVI(here, normal, pyro.optim.Adam({"lr": 0.02}), Trace_ELBO(num_particles=2))
    elbo = [svi.step(x, y) for _ in range(10)]
    predicted = Predictive(here, guide=normal, num_samples=4, return_sites=("obs",))(x[:5])["obs"]
    pyro.set_rng_seed(2)
    kernel = HMC(here, step_size=0.02, num_steps=3, adapt_step_size=False, jit_compile=False)
    mcmc = MCMC(kernel, num_samples=4, warmup_steps=1, disable_progbar=True)
    mcmc.run(x, y)
    samples = mcmc.get_samples()
    return {
        "modes": modes,
        "weight": weight,
        "mixed": mixed,
        "locs": locs,
        "elbo": elbo,
        "predicted": predicted,
        "hmc weight": samples["linear.weight"],
        "hmc sigma": samples["sigma"],
    }
