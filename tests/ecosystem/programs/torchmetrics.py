"""Metrics of classes, values, images, texts and retrieval, updated batch by batch, in collections, merged and reset."""

import torch
import torchmetrics.functional as tmf
from torchmetrics import MetricCollection
from torchmetrics.aggregation import CatMetric, MaxMetric, MeanMetric, SumMetric
from torchmetrics.classification import (
    BinaryAUROC,
    BinaryAveragePrecision,
    BinaryCalibrationError,
    BinaryPrecisionRecallCurve,
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassCalibrationError,
    MulticlassCohenKappa,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
    MulticlassJaccardIndex,
    MulticlassMatthewsCorrCoef,
    MulticlassROC,
    MultilabelF1Score,
    MultilabelRankingLoss,
)
from torchmetrics.image import (
    MultiScaleStructuralSimilarityIndexMeasure,
    PeakSignalNoiseRatio,
    StructuralSimilarityIndexMeasure,
    TotalVariation,
    UniversalImageQualityIndex,
)
from torchmetrics.regression import (
    ConcordanceCorrCoef,
    CosineSimilarity,
    ExplainedVariance,
    KendallRankCorrCoef,
    MeanAbsolutePercentageError,
    MeanSquaredError,
    PearsonCorrCoef,
    R2Score,
    SpearmanCorrCoef,
)
from torchmetrics.retrieval import RetrievalMAP, RetrievalMRR, RetrievalNormalizedDCG
from torchmetrics.text import BLEUScore, CharErrorRate, Perplexity, WordErrorRate
from torchmetrics.wrappers import BootStrapper, ClasswiseWrapper, MetricTracker, MinMaxMetric


def run(device):
    torch.manual_seed(0)
    out = {}
    classes = MetricCollection(
        {
            "acc": MulticlassAccuracy(5),
            "f1": MulticlassF1Score(5, average="weighted"),
            "auroc": MulticlassAUROC(5),
            "ece": MulticlassCalibrationError(5, n_bins=10),
            "kappa": MulticlassCohenKappa(5),
            "cm": MulticlassConfusionMatrix(5, normalize="true"),
            "iou": MulticlassJaccardIndex(5),
            "mcc": MulticlassMatthewsCorrCoef(5),
        }
    ).to(device)
    values = MetricCollection(
        [ConcordanceCorrCoef(), ExplainedVariance(), KendallRankCorrCoef(), MeanSquaredError(squared=False),
         MeanAbsolutePercentageError(), PearsonCorrCoef(), R2Score(), SpearmanCorrCoef()]
    ).to(device)  # fmt: skip
    roc = MulticlassROC(5, thresholds=7).to(device)
    binary = MetricCollection([BinaryAUROC(), BinaryAveragePrecision(), BinaryCalibrationError()]).to(device)
    curve = BinaryPrecisionRecallCurve(thresholds=5).to(device)
    labels = MetricCollection([MultilabelF1Score(4), MultilabelRankingLoss(4)]).to(device)
    steps = []
    tracker = MetricTracker(MulticlassAccuracy(5), maximize=True)
    tracker = tracker.to(device)
    bounds = MinMaxMetric(MulticlassAccuracy(5)).to(device)
    wise = ClasswiseWrapper(MulticlassAccuracy(5, average=None)).to(device)
    for _ in range(4):
        logits = torch.randn(32, 5)
        target = torch.where(torch.rand(32) > 0.5, logits.argmax(1), torch.randint(0, 5, (32,)))
        logits, target = logits.to(device), target.to(device)
        steps.append(classes(logits.softmax(-1), target)["acc"].item())
        roc.update(logits.softmax(-1), target)
        tracker.increment()
        tracker.update(logits, target)
        bounds(logits, target)
        wise.update(logits, target)
        a = torch.randn(32)
        b = a + 0.5 * torch.randn(32)
        values.update(a.to(device), b.to(device))
        p, t = torch.rand(32), torch.randint(0, 2, (32,))
        binary.update(p.to(device), t.to(device))
        curve.update(p.to(device), t.to(device))
        labels.update(torch.rand(16, 4).to(device), torch.randint(0, 2, (16, 4)).to(device))
    for collection in (classes, values, binary, labels):
        out |= {name: value for name, value in collection.compute().items()}
    out["steps"] = steps
    out["roc"] = torch.stack(roc.compute()[:2])
    out["curve"] = torch.cat(curve.compute()).nan_to_num()
    out["best"] = tracker.best_metric()
    out["bounds"] = [v.item() for v in bounds.compute().values()]
    out["wise"] = [v.item() for v in wise.compute().values()]
    image = torch.rand(2, 3, 180, 180)
    other = (image + 0.1 * torch.randn(image.shape)).clamp(0, 1)
    images = MetricCollection(
        [StructuralSimilarityIndexMeasure(data_range=1.0), PeakSignalNoiseRatio(data_range=1.0),
         MultiScaleStructuralSimilarityIndexMeasure(data_range=1.0), UniversalImageQualityIndex()]
    ).to(device)  # fmt: skip
    images.update(other.to(device), image.to(device))
    out |= images.compute()
    variation = TotalVariation().to(device)
    out["variation"] = variation(image.to(device)) / 1e4
    index = torch.tensor([0, 0, 0, 1, 1, 1, 1]).to(device)
    p = torch.rand(7).to(device)
    t = torch.tensor([0, 1, 0, 1, 0, 1, 0]).to(device)
    for kind in (RetrievalMAP, RetrievalMRR, RetrievalNormalizedDCG):
        metric = kind().to(device)
        metric.update(p, t, indexes=index)
        out[kind.__name__] = metric.compute()
    hyp, ref = ["the cat sat on a mat", "hello world"], ["the cat sat on the mat", "hello there world"]
    out["wer"], out["cer"] = WordErrorRate()(hyp, ref), CharErrorRate()(hyp, ref)
    out["bleu"] = BLEUScore(2)(hyp, [[r] for r in ref])
    perplexity = Perplexity(ignore_index=-100).to(device)
    out["perplexity"] = perplexity(torch.randn(2, 8, 6).to(device), torch.randint(0, 6, (2, 8)).to(device))
    mean, total, top, cat = (
        MeanMetric().to(device),
        SumMetric().to(device),
        MaxMetric().to(device),
        CatMetric().to(device),
    )
    for v in (1.0, 2.5, -3.0):
        for m in (mean, total, top, cat):
            m.update(torch.tensor(v).to(device))
    out["agg"] = [
        mean.compute().item(),
        total.compute().item(),
        top.compute().item(),
        *cat.compute().tolist(),
    ]
    state = mean.state_dict()
    mean.persistent(True)
    out["states"] = len(mean.state_dict()) - len(state)
    out["pair"] = tmf.pairwise_cosine_similarity(torch.randn(3, 4).to(device), torch.randn(2, 4).to(device))
    composed = (MeanSquaredError() + 2 * CosineSimilarity()).to(device)
    out["composed"] = composed(torch.ones(2, 3).to(device), torch.arange(6.0).view(2, 3).to(device))
    torch.manual_seed(3)
    boot = BootStrapper(
        MeanSquaredError(), num_bootstraps=4, quantile=torch.tensor([0.1, 0.9]).to(device)
    ).to(device)
    boot.update(torch.zeros(10).to(device), torch.ones(10).to(device))
    out["boot"] = boot.compute()["mean"]
    return out
