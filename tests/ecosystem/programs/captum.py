"""Attributions of a convolutional classifier by ten methods, of a layer and of a neuron, and of a text's embeddings."""

import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GuidedBackprop,
    GuidedGradCam,
    InputXGradient,
    IntegratedGradients,
    KernelShap,
    LayerConductance,
    LayerGradCam,
    LayerIntegratedGradients,
    NeuronGradient,
    NoiseTunnel,
    Occlusion,
    Saliency,
)
from captum.metrics import infidelity
from torch import nn


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.last = nn.Linear(4 * 16, 3)

    def forward(self, x):
        return self.last(self.pool(self.relu(self.conv(x))).flatten(1))


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.rnn = nn.LSTM(6, 8, batch_first=True)
        self.last = nn.Linear(8, 2)

    def forward(self, tokens):
        return self.last(self.rnn(self.embedding(tokens))[0][:, -1])


def run(device: str):
    torch.manual_seed(0)
    model, images = Images().eval().to(device), torch.randn(3, 2, 8, 8).to(device)
    target = torch.tensor([0, 2, 1]).to(device)
    found = {}
    gradients = IntegratedGradients(model)
    found["integrated"], delta = gradients.attribute(
        images, target=target, n_steps=20, return_convergence_delta=True
    )
    found["delta"] = delta
    found["saliency"] = Saliency(model).attribute(images, target=target)
    found["times_gradient"] = InputXGradient(model).attribute(images, target=target)
    found["deep_lift"] = DeepLift(model).attribute(images, images * 0, target=target)
    found["guided"] = GuidedBackprop(model).attribute(images, target=target)
    found["cam"] = LayerGradCam(model, model.conv).attribute(images, target=target)
    found["guided_cam"] = GuidedGradCam(model, model.conv).attribute(images, target=target)
    found["conductance"] = LayerConductance(model, model.pool).attribute(images, target=target, n_steps=10)
    found["neuron"] = NeuronGradient(model, model.conv).attribute(images, (1, 3, 3))
    found["occlusion"] = Occlusion(model).attribute(
        images, target=target, sliding_window_shapes=(2, 4, 4), strides=(2, 2, 2)
    )
    blocks = torch.arange(16).reshape(4, 4).repeat_interleave(2, 0).repeat_interleave(2, 1).to(device)
    found["ablation"] = FeatureAblation(model).attribute(
        images, target=target, feature_mask=blocks[None, None]
    )
    quiet = NoiseTunnel(Saliency(model))
    found["noise"] = quiet.attribute(images, target=target, nt_type="smoothgrad", nt_samples=3, stdevs=0.0)
    found["infidelity"] = infidelity(
        model, lambda x: (x * 0.1, x * 0.9), images, found["integrated"], target=target, n_perturb_samples=2
    )

    torch.manual_seed(1)  # the noise came from the device
    text = Text().eval().to(device)
    tokens = torch.randint(0, 20, (2, 7)).to(device)
    layer = LayerIntegratedGradients(text, text.embedding)
    found["text"] = layer.attribute(tokens, tokens * 0, target=1, n_steps=8)

    line = nn.Linear(5, 1).to(device)  # for a linear model the sampled Shapley values are exact
    found["shap"] = KernelShap(line).attribute(torch.ones(1, 5).to(device), n_samples=200)
    return found
