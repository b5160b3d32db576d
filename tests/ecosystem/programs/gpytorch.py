"""Gaussian processes: exact regression, one with a spectral kernel over a grid, and a variational classifier."""

import math

import gpytorch
import torch


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Sparse(gpytorch.models.ApproximateGP):
    def __init__(self, inducing):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(inducing.size(0), mean_init_std=0)
        strategy = gpytorch.variational.VariationalStrategy(
            self, inducing, distribution, learn_inducing_locations=True
        )
        super().__init__(strategy)
        self.mean_module = gpytorch.means.LinearMean(1)
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def exact(kernel, device, steps):
    x = torch.linspace(0, 1, 40)
    y = torch.sin(x * 2 * math.pi) + torch.randn(40) * 0.1
    x, y = x.to(device), y.to(device)
    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_prior=gpytorch.priors.GammaPrior(1.1, 0.5)).to(
        device
    )
    model = Exact(x, y, likelihood, kernel).to(device)
    model.train(), likelihood.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -mll(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval(), likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        prediction = likelihood(model(torch.linspace(0, 1, 13, device=device)))
        lower, upper = prediction.confidence_region()
    return losses, prediction.mean, lower, upper, prediction.covariance_matrix


def run(device):
    torch.manual_seed(0)
    rbf = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    losses, mean, lower, upper, covariance = exact(rbf, device, 12)
    periodic = gpytorch.kernels.ScaleKernel(
        gpytorch.kernels.PeriodicKernel() + gpytorch.kernels.RQKernel() * gpytorch.kernels.LinearKernel()
    )
    more_losses, more_mean, *_ = exact(periodic, device, 5)

    x = torch.linspace(0, 1, 60).unsqueeze(-1)
    y = (torch.cos(x.squeeze() * 8).sign() + 1) / 2
    model = Sparse(x[::6].clone()).to(device)
    likelihood = gpytorch.likelihoods.BernoulliLikelihood().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    mll = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=60)
    x, y = x.to(device), y.to(device)
    elbo = []
    model.train(), likelihood.train()
    for _ in range(8):
        optimizer.zero_grad()
        loss = -mll(model(x), y)
        loss.backward()
        optimizer.step()
        elbo.append(loss.item())
    model.eval()
    with torch.no_grad():
        probability = likelihood(model(x)).probs
    return {
        "losses": losses,
        "mean": mean,
        "lower": lower,
        "upper": upper,
        "covariance": covariance,
        "periodic losses": more_losses,
        "periodic mean": more_mean,
        "elbo": elbo,
        "probability": probability,
    }
