"""A training loop of events and handlers: metrics, schedules, early stopping, checkpoints, averages of weights."""

import os
import tempfile

import torch
from ignite.contrib.handlers import ProgressBar  # noqa: F401  (programs import it; it wants a terminal)
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import (
    Checkpoint,
    CosineAnnealingScheduler,
    DiskSaver,
    EarlyStopping,
    EMAHandler,
    ModelCheckpoint,
    TerminateOnNan,
    Timer,
    create_lr_scheduler_with_warmup,
    global_step_from_engine,
)
from ignite.metrics import ROC_AUC, Accuracy, ConfusionMatrix, Fbeta, Loss, Precision, Recall, RunningAverage
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def run(device):
    torch.manual_seed(0)
    x = torch.randn(96, 8)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=False)
    model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    trainer = create_supervised_trainer(
        model, optimizer, criterion, device=device, gradient_accumulation_steps=2
    )
    precision, recall = Precision(average=False), Recall(average=False)
    metrics = {
        "accuracy": Accuracy(),
        "loss": Loss(criterion),
        "f1": Fbeta(1.0, precision=precision, recall=recall),
        "macro": (precision * recall * 2 / (precision + recall)).mean(),
        "confusion": ConfusionMatrix(2),
    }
    evaluator = create_supervised_evaluator(model, metrics=metrics, device=device)
    RunningAverage(output_transform=lambda loss: loss).attach(trainer, "running")
    trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
    cosine = CosineAnnealingScheduler(optimizer, "lr", 0.1, 0.01, len(loader) * 3)
    warm = create_lr_scheduler_with_warmup(
        cosine, warmup_start_value=0.0, warmup_end_value=0.1, warmup_duration=4
    )
    trainer.add_event_handler(Events.ITERATION_STARTED, warm)
    ema = EMAHandler(model, momentum=0.2)
    ema.attach(trainer)
    Timer(average=True).attach(trainer, resume=Events.ITERATION_STARTED, pause=Events.ITERATION_COMPLETED)
    losses, rates, scores = [], [], []

    @trainer.on(Events.ITERATION_COMPLETED(every=3))
    def note(engine):
        losses.append(engine.state.output)
        rates.append(optimizer.param_groups[0]["lr"])

    @trainer.on(Events.EPOCH_COMPLETED)
    def check(engine):
        evaluator.run(loader)
        scores.append(evaluator.state.metrics["accuracy"])

    evaluator.add_event_handler(
        Events.COMPLETED,
        EarlyStopping(patience=2, score_function=lambda e: e.state.metrics["accuracy"], trainer=trainer),
    )
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(
            {"model": model, "optimizer": optimizer, "trainer": trainer},
            DiskSaver(folder, create_dir=True),
            n_saved=1,
            score_function=lambda e: e.state.metrics["accuracy"],
            global_step_transform=global_step_from_engine(trainer),
        )
        evaluator.add_event_handler(Events.COMPLETED, checkpoint)
        last = ModelCheckpoint(folder, "last", n_saved=1, require_empty=False)
        trainer.add_event_handler(Events.EPOCH_COMPLETED, last, {"model": model})
        trainer.run(loader, max_epochs=3)
        state = torch.load(os.path.join(folder, checkpoint.last_checkpoint), map_location=device)
        again = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2)).to(device)
        Checkpoint.load_objects({"model": again}, {"model": state["model"]})
    again.eval()

    def step(engine, batch):
        with torch.no_grad():
            return again(batch[0].to(device)).softmax(-1)[:, 1], batch[1].to(device)

    ranker = Engine(step)
    ROC_AUC().attach(ranker, "auc")
    return {
        "losses": losses,
        "rates": rates,
        "scores": scores,
        "running": trainer.state.metrics["running"],
        "f1": evaluator.state.metrics["f1"],
        "macro": evaluator.state.metrics["macro"],
        "confusion": evaluator.state.metrics["confusion"],
        "ema": next(ema.ema_model.parameters()),
        "auc": ranker.run(loader).metrics["auc"],
        "out": again(x[:4].to(device)),
    }
