"""Spiking networks: four kinds of neurons trained through surrogate gradients, recurrent ones, codes of spikes."""

import snntorch as snn
import torch
from snntorch import functional, spikegen, surrogate
from torch import nn

NEURONS = {
    "leaky": lambda: snn.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid(), learn_beta=True),
    "synaptic": lambda: snn.Synaptic(alpha=0.8, beta=0.9, spike_grad=surrogate.atan()),
    "lapicque": lambda: snn.Lapicque(beta=0.9),
    "alpha": lambda: snn.Alpha(alpha=0.9, beta=0.8),
}


def at_rest(neuron):
    state = neuron.reset_mem()
    return state if isinstance(state, tuple) else (state,)


def run(device):
    out = {}
    torch.manual_seed(0)
    x, labels = torch.rand(8, 4, 10).to(device), torch.tensor([0, 1, 2, 0]).to(device)
    loss_of = functional.ce_rate_loss()
    for name, make in NEURONS.items():
        torch.manual_seed(1)
        first, last = nn.Linear(10, 20).to(device), nn.Linear(20, 3).to(device)
        hidden, output = make().to(device), make().to(device)
        parameters = [p for module in (first, last, hidden) for p in module.parameters()]
        optimizer = torch.optim.Adam(parameters, lr=1e-2)
        losses = []
        for _ in range(3):
            inner, outer, found = at_rest(hidden), at_rest(output), []
            for step in x:
                spikes, *inner = hidden(first(step), *inner)
                spikes, *outer = output(last(spikes), *outer)
                found.append(spikes + 0.1 * outer[-1])
            loss = loss_of(torch.stack(found), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        out[name] = losses
    out["latency"] = spikegen.latency(torch.rand(4, 5).to(device), num_steps=10, normalize=True, linear=True)
    out["delta"] = spikegen.delta(torch.rand(10, 5).to(device), threshold=0.2)
    cell = snn.SLSTM(10, 6).to(device)
    synapses, membrane = cell.reset_mem()
    spikes, synapses, membrane = cell(x[0], synapses.to(device), membrane.to(device))
    out["lstm"], out["lstm_membrane"] = spikes, membrane
    return out
