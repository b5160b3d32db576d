"""Bayesian optimisation of a function of two variables: fit a surrogate, maximise an acquisition, evaluate, repeat."""

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound, qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.test_functions import Branin
from botorch.utils.multi_objective.hypervolume import Hypervolume
from botorch.utils.multi_objective.pareto import is_non_dominated
from gpytorch.mlls import ExactMarginalLogLikelihood, SumMarginalLogLikelihood


def run(device):
    torch.manual_seed(0)
    function = Branin(negate=True).to(device=device, dtype=torch.double)
    bounds = function.bounds
    x = torch.rand(10, 2, dtype=torch.double).to(device) * (bounds[1] - bounds[0]) + bounds[0]
    y = function(x).unsqueeze(-1)

    best, values = [], []
    for _ in range(2):
        model = SingleTaskGP(
            x, y, input_transform=Normalize(2, bounds=bounds), outcome_transform=Standardize(1)
        )
        mll = ExactMarginalLogLikelihood(model.likelihood, model)
        fit_gpytorch_mll(mll)
        acquisition = LogExpectedImprovement(model, best_f=y.max())
        starts = torch.rand(2, 1, 2, dtype=torch.double).to(device) * (bounds[1] - bounds[0]) + bounds[0]
        candidate, value = optimize_acqf(
            acquisition, bounds, q=1, num_restarts=2, batch_initial_conditions=starts, options={"maxiter": 20}
        )
        x = torch.cat([x, candidate])
        y = torch.cat([y, function(candidate).unsqueeze(-1)])
        best.append(y.max().item())
        values.append(value.item())

    posterior = model.posterior(x[:4] + 0.25)
    sampler = SobolQMCNormalSampler(sample_shape=torch.Size([16]), seed=3)
    noisy = qLogNoisyExpectedImprovement(model, X_baseline=x, sampler=sampler, prune_baseline=False)
    two = (x[:2] + 0.5).detach().requires_grad_(True)
    noisy_value = noisy(two.unsqueeze(0)).sum()
    noisy_value.backward()
    ucb = UpperConfidenceBound(model, beta=0.2)(x[:3].unsqueeze(1))

    objectives = torch.cat([y, -(x**2).sum(-1, keepdim=True)], -1)
    models = ModelListGP(*[SingleTaskGP(x, objectives[:, i : i + 1]) for i in range(2)])
    fit_gpytorch_mll(
        SumMarginalLogLikelihood(models.likelihood, models), optimizer_kwargs={"options": {"maxiter": 10}}
    )
    front = objectives[is_non_dominated(objectives)]
    volume = Hypervolume(ref_point=objectives.min(0).values).compute(front)
    return {
        "best": best,
        "values": values,
        "mean": posterior.mean,
        "variance": posterior.variance,
        "noisy": noisy_value,
        "noisy gradient": two.grad,
        "ucb": ucb,
        "two": models.posterior(x[:3]).mean,
        "volume": volume,
    }
