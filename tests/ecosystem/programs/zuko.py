"""Normalizing flows: spline, autoregressive, continuous and mixture densities; trained, sampled from, inverted."""

import torch
import zuko


def fit(flow, x, context, device, steps):
    flow = flow.to(device)
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        loss = -flow(context).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run(device):
    torch.manual_seed(0)
    angle = torch.rand(64) * 3.14
    x = torch.stack([angle.cos(), angle.sin()], -1) + 0.05 * torch.randn(64, 2)
    context, noise = torch.randn(64, 3).to(device), torch.randn(9, 2).to(device)
    x = x.to(device)
    flows = {
        "spline": zuko.flows.NSF(2, 3, transforms=2, hidden_features=[16, 16]),
        "masked": zuko.flows.MAF(2, 3, transforms=2, hidden_features=[16], randperm=True),
        "neural": zuko.flows.NAF(2, 3, transforms=1, hidden_features=[16], network={"hidden_features": [8]}),
        "coupled": zuko.flows.NICE(2, 3, transforms=3, hidden_features=[16]),
        "polynomial": zuko.flows.SOSPF(2, 3, transforms=1, hidden_features=[16]),
        "mixture": zuko.flows.GMM(2, 3, components=3, hidden_features=[16]),
        "continuous": zuko.flows.CNF(2, 3, hidden_features=[16], exact=True),
    }
    result = {}
    for name, flow in flows.items():
        result[name] = fit(flow, x, context, device, 2 if name == "continuous" else 4)
        if name in ("spline", "masked", "coupled"):
            transform = flow(context[0]).transform
            result[name + " sample"] = transform.inv(noise)
            back, jacobian = transform.call_and_ladj(transform.inv(noise))
            result[name + " back"], result[name + " jacobian"] = back, jacobian
    torch.manual_seed(1)  # sampling draws on the cpu, where a seed gives PyTorch's numbers
    flow = flows["spline"].cpu()
    sample, log_prob = flow(torch.zeros(3)).rsample_and_log_prob((5,))
    result["drawn"], result["drawn log_prob"] = sample, log_prob
    return result
