"""Normalizing flows: RealNVP, spline, residual and Glow blocks trained on a mixture, densities and inverses."""

import normflows as nf
import torch


def run(device):
    out = {}
    torch.manual_seed(0)
    x = torch.cat([torch.randn(32, 2) * 0.3 + 1, torch.randn(32, 2) * 0.3 - 1]).to(device)
    base = nf.distributions.base.DiagGaussian(2)

    def realnvp():
        found = []
        for _ in range(3):
            found += [
                nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 8, 8, 2], init_zeros=True)),
                nf.flows.Permute(2, mode="swap"),
            ]
        return found

    kinds = {
        "realnvp": realnvp,
        "spline": lambda: [
            nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8),
            nf.flows.LULinearPermute(2),
        ],
        "coupled": lambda: [nf.flows.CoupledRationalQuadraticSpline(2, 1, 8), nf.flows.LULinearPermute(2)],
        "maf": lambda: [nf.flows.MaskedAffineAutoregressive(2, 8), nf.flows.ActNorm(2)],
        "planar": lambda: [nf.flows.Radial((2,))],
    }
    for name, make in kinds.items():
        torch.manual_seed(1)
        model = nf.NormalizingFlow(nf.distributions.base.DiagGaussian(2), make()).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        losses = []
        for _ in range(4):
            if name == "planar":
                z, log_det = model.flows[0](x)
                loss = -(model.q0.log_prob(z) + log_det).mean()
            else:
                loss = model.forward_kld(x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        out[name] = losses
        if name != "planar":
            with torch.no_grad():
                out[f"{name}_back"] = model.forward(model.inverse(x[:6]))
    torch.manual_seed(2)
    glow = [nf.flows.GlowBlock(4, 8, split_mode="channel", scale=True), nf.flows.Squeeze()]
    image = torch.randn(2, 4, 4, 4).to(device)
    block = glow[0].to(device)
    block(image)
    z, log_det = block(image)
    out["glow"], out["glow_det"] = z, log_det
    out["mixture"] = nf.distributions.TwoMoons().log_prob(x)
    out["base"] = base.to(device).log_prob(x)
    return out
