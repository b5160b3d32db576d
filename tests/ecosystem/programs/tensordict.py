"""Dictionaries of tensors: stacking, indexing, files in memory, classes, modules with named inputs, ensembles."""

import tempfile

import torch
from tensordict import TensorDict, lazy_stack, stack, tensorclass
from tensordict.nn import (
    CompositeDistribution,
    NormalParamExtractor,
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
    TensorDictParams,
    TensorDictSequential,
)
from torch import nn, vmap


@tensorclass
class Sample:
    image: torch.Tensor
    label: torch.Tensor
    name: str


def run(device):
    torch.manual_seed(0)
    data = TensorDict(
        {
            "a": torch.randn(4, 3),
            "nested": {"b": torch.arange(8.0).view(4, 2), "c": torch.randn(4, 1)},
        },
        batch_size=[4],
    ).to(device)
    part = data[1:3].clone()
    part["nested", "d"] = part["a"].sum(-1, keepdim=True)
    data["mask"] = data["a"][:, 0] > 0
    chosen = data[data["mask"]]
    stacked = stack([data, data * 2], 0)
    lazy = lazy_stack([data.select("a"), data.select("a") + 1], 1)
    turned = stacked.permute(1, 0).reshape(-1).flatten_keys(".")
    arithmetic = (data.select("a", "nested") * 2 + 1).apply(lambda x: x.tanh())
    data.exclude("mask").apply_(lambda x: x)
    with tempfile.TemporaryDirectory() as folder:
        saved = data.cpu().memmap(folder)
        loaded = TensorDict.load_memmap(folder)
        loaded_sum = loaded["nested", "b"].sum().item() + saved["a"].sum().item()

    samples = Sample(image=torch.rand(3, 2, 2), label=torch.arange(3), name="x", batch_size=[3]).to(device)
    pair = torch.cat([samples, samples[:1]], 0)

    torch.manual_seed(1)
    encoder = TensorDictModule(nn.Linear(3, 8), in_keys=["a"], out_keys=["hidden"])
    head = TensorDictModule(
        nn.Sequential(nn.Linear(8, 4), NormalParamExtractor()), in_keys=["hidden"], out_keys=["loc", "scale"]
    )
    policy = ProbabilisticTensorDictSequential(
        encoder,
        head,
        ProbabilisticTensorDictModule(
            in_keys=["loc", "scale"],
            out_keys=["action"],
            distribution_class=torch.distributions.Normal,
            default_interaction_type="deterministic",
            return_log_prob=True,
        ),
    ).to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.05)
    losses = []
    for _ in range(5):
        out = policy(data.select("a"))
        loss = (out["action"] - 1).pow(2).mean() - 0.01 * out["action_log_prob"].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    nets = [nn.Linear(3, 2) for _ in range(3)]
    ensemble = TensorDictParams(TensorDict.from_modules(*nets, as_module=False).clone().to(device))
    base = nn.Linear(3, 2).to("meta")

    def call(x, parameters):
        with parameters.to_module(base):
            return base(x)

    outputs = vmap(call, (None, 0))(data["a"], ensemble)
    outputs.square().sum().backward()
    gradient = ensemble["weight"].grad if ensemble["weight"].grad is not None else torch.zeros(1)
    sequence = TensorDictSequential(
        encoder, TensorDictModule(lambda h: h.relu(), in_keys=["hidden"], out_keys=["out"])
    ).to(device)
    state = sequence.select_subsequence(in_keys=["a"], out_keys=["out"])(data.select("a"))
    composite = CompositeDistribution(
        TensorDict({"x": {"loc": torch.zeros(4, device=device), "scale": torch.ones(4, device=device)}}, [4]),
        distribution_map={"x": torch.distributions.Normal},
    )
    return {
        "part": part["nested", "d"],
        "chosen": chosen["nested", "b"],
        "stacked": stacked["a"],
        "lazy": lazy["a"],
        "turned": turned["nested.c"],
        "arithmetic": arithmetic["nested", "c"],
        "loaded": loaded_sum,
        "labels": pair.label.float(),
        "losses": losses,
        "ensemble": outputs,
        "gradient": gradient,
        "state": state["out"],
        "log_prob": composite.log_prob(TensorDict({"x": torch.ones(4, device=device)}, [4]))["x_log_prob"],
    }
