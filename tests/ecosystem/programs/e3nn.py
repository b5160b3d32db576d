"""An equivariant network over points: spherical harmonics, tensor products and gates; it turns as its input turns."""

import torch
from e3nn import o3
from e3nn.math import soft_one_hot_linspace
from e3nn.nn import BatchNorm, FullyConnectedNet, Gate


class Layer(torch.nn.Module):
    def __init__(self, irreps_in, irreps_edge, irreps_out):
        super().__init__()
        scalars = o3.Irreps([(m, ir) for m, ir in o3.Irreps(irreps_out) if ir.l == 0])
        gated = o3.Irreps([(m, ir) for m, ir in o3.Irreps(irreps_out) if ir.l > 0])
        gates = o3.Irreps(f"{gated.num_irreps}x0e")
        self.gate = Gate(scalars, [torch.nn.functional.silu] * len(scalars), gates, [torch.sigmoid], gated)
        self.tensor_product = o3.FullyConnectedTensorProduct(
            irreps_in, irreps_edge, self.gate.irreps_in, shared_weights=False
        )
        self.weights = FullyConnectedNet([6, 12, self.tensor_product.weight_numel], torch.nn.functional.silu)
        self.linear = o3.Linear(irreps_in, irreps_in)

    def forward(self, x, source, target, harmonics, lengths):
        messages = self.tensor_product(self.linear(x)[source], harmonics, self.weights(lengths))
        out = x.new_zeros(x.shape[0], messages.shape[1]).index_add(0, target, messages) / 3.0
        return self.gate(out)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.edge = o3.Irreps.spherical_harmonics(2)
        hidden = "8x0e + 4x1o + 2x2e"
        self.one = Layer("3x0e", self.edge, hidden)
        self.norm = BatchNorm(hidden)
        self.two = Layer(hidden, self.edge, "4x0e + 2x1o")
        self.out = o3.Linear("4x0e + 2x1o", "1x0e + 1x1o")

    def forward(self, x, positions, edges):
        source, target = edges
        vectors = positions[source] - positions[target]
        harmonics = o3.spherical_harmonics(self.edge, vectors, normalize=True, normalization="component")
        lengths = (
            soft_one_hot_linspace(vectors.norm(dim=1), 0.0, 3.0, 6, basis="smooth_finite", cutoff=True)
            * 6**0.5
        )
        x = self.norm(self.one(x, source, target, harmonics, lengths))
        return self.out(self.two(x, source, target, harmonics, lengths)).mean(0)


def run(device):
    torch.manual_seed(0)
    network = Network().to(device)
    positions, x = torch.randn(6, 3).to(device), torch.randn(6, 3).to(device)
    edges = torch.tensor([[i, j] for i in range(6) for j in range(6) if i != j]).T.to(device)
    goal = torch.tensor([1.0, 0.5, -0.5, 0.25]).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = (network(x, positions, edges) - goal).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    network.eval()
    angles = torch.tensor([0.3]), torch.tensor([0.7]), torch.tensor([-0.4])
    turn = o3.angles_to_matrix(*angles)[0].to(device)
    turned = network(x, positions @ turn.T, edges)
    expected = o3.Irreps("1x0e + 1x1o").D_from_angles(*angles)[0].to(device) @ network(x, positions, edges)
    energy_positions = positions.clone().requires_grad_(True)
    forces = torch.autograd.grad(network(x, energy_positions, edges)[0], energy_positions)[0]
    norm = o3.Norm("8x0e + 4x1o").to(device)(torch.arange(20.0, device=device))
    return {
        "losses": losses,
        "out": expected,
        "turned": turned,
        "difference": (turned - expected).abs().max().item(),
        "forces": forces,
        "norm": norm,
        "wigner": o3.wigner_3j(1, 2, 1),
        "harmonics": o3.spherical_harmonics("2e + 3o", positions, True),
    }
