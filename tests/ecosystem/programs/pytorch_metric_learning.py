"""Embeddings trained with losses of pairs and triplets, miners, a memory of batches, and accuracy by neighbours."""

import torch
from pytorch_metric_learning import distances, losses, miners, reducers, regularizers
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from torch import nn


def run(device):
    torch.manual_seed(0)
    centres = torch.randn(6, 10)
    y = torch.arange(48) % 6
    x = centres[y] + 0.3 * torch.randn(48, 10)
    x, y = x.to(device), y.to(device)
    out = {}
    kinds = {
        "triplet": losses.TripletMarginLoss(margin=0.2, reducer=reducers.AvgNonZeroReducer()),
        "contrastive": losses.ContrastiveLoss(pos_margin=0, neg_margin=1),
        "ntxent": losses.NTXentLoss(temperature=0.1),
        "supcon": losses.SupConLoss(distance=distances.CosineSimilarity()),
        "multi": losses.MultiSimilarityLoss(embedding_regularizer=regularizers.LpRegularizer()),
        "circle": losses.CircleLoss(),
        "npairs": losses.NPairsLoss(),
        "lifted": losses.GeneralizedLiftedStructureLoss(),
        "fastap": losses.FastAPLoss(),
        "snr": losses.SignalToNoiseRatioContrastiveLoss(),
        "tuplet": losses.TupletMarginLoss(),
        "angular": losses.AngularLoss(),
    }
    made = {}
    torch.manual_seed(1)
    made["arcface"] = losses.ArcFaceLoss(6, 8, margin=20)
    made["cosface"] = losses.CosFaceLoss(6, 8)
    made["proxy"] = losses.ProxyAnchorLoss(6, 8)
    made["softtriple"] = losses.SoftTripleLoss(6, 8, centers_per_class=2)
    made["normalized"] = losses.NormalizedSoftmaxLoss(6, 8)
    for name, loss_of in (kinds | made).items():
        loss_of = loss_of.to(device)
        torch.manual_seed(2)
        net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 8)).to(device)
        parameters = [*net.parameters(), *loss_of.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.01)
        found = []
        for _ in range(3):
            loss = loss_of(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        out[name] = found
    e = net(x).detach()
    for name, miner in {
        "hard": miners.BatchHardMiner(),
        "margin": miners.TripletMarginMiner(0.2, "all"),
        "similar": miners.MultiSimilarityMiner(0.1),
        "pair": miners.PairMarginMiner(0.2, 0.8),
    }.items():
        found = miner(e, y)
        out[f"mined_{name}"] = losses.TripletMarginLoss()(e, y, found)
    memory = losses.CrossBatchMemory(losses.ContrastiveLoss(), 8, memory_size=64).to(device)
    out["memory"] = [memory(e[i : i + 16], y[i : i + 16]).item() for i in range(0, 48, 16)]
    wrapped = losses.SelfSupervisedLoss(losses.NTXentLoss())
    out["self"] = wrapped(e, e + 0.1)
    out["accuracy"] = list(accuracy(e, y).values())
    return out


def accuracy(e, y):
    def knn(query, k, reference, same):
        found = torch.cdist(query, reference)
        if same:
            found.fill_diagonal_(float("inf"))
        d, i = found.topk(k, largest=False)
        return d, i

    calculator = AccuracyCalculator(
        include=("precision_at_1", "r_precision", "mean_average_precision_at_r"), k="max_bin_count", knn_func=knn,
        device=e.device,
    )  # fmt: skip
    return calculator.get_accuracy(e, y)
