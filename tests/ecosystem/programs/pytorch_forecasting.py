"""Forecasts: a table of series, a temporal fusion transformer with quantiles, N-BEATS and DeepAR, trained a little."""

import lightning.pytorch as pl
import numpy as np
import pandas as pd
import torch
from pytorch_forecasting import Baseline, DeepAR, NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.data import GroupNormalizer, NaNLabelEncoder
from pytorch_forecasting.metrics import MAE, SMAPE, NormalDistributionLoss, QuantileLoss


def table():
    random = np.random.default_rng(0)
    rows = []
    for group in ("a", "b", "c"):
        phase = random.uniform(0, 6)
        for step in range(40):
            rows.append(
                (
                    group,
                    step,
                    np.sin(step / 4 + phase) + 2 + 0.1 * random.normal(),
                    step % 7,
                    "odd" if step % 2 else "even",
                )
            )
    return pd.DataFrame(rows, columns=["group", "time", "value", "day", "kind"])


def dataset(frame, **options):
    return TimeSeriesDataSet(
        frame,
        time_idx="time",
        target="value",
        group_ids=["group"],
        max_encoder_length=12,
        max_prediction_length=4,
        time_varying_unknown_reals=["value"],
        **options,
    )


def train(model, loader, device, steps):
    """Some steps by hand: what a Trainer does with its only device."""
    model = model.to(device)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _, (x, y) in zip(range(steps), loader, strict=False):
        x = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in x.items()}
        y = (y[0].to(device), y[1])
        optimizer.zero_grad()
        loss = model.loss(model(x)["prediction"], y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        out = model(x)
    return (
        losses,
        model.to_prediction(out),
        model.to_quantiles(out) if isinstance(model, TemporalFusionTransformer) else out["prediction"],
    )


def run(device):
    frame = table()
    full = dataset(
        frame,
        static_categoricals=["group"],
        time_varying_known_categoricals=["kind"],
        time_varying_known_reals=["time", "day"],
        target_normalizer=GroupNormalizer(groups=["group"], transformation="softplus"),
        add_relative_time_idx=True,
        add_target_scales=True,
        add_encoder_length=True,
    )
    loader = full.to_dataloader(train=False, batch_size=16)
    torch.manual_seed(0)
    tft = TemporalFusionTransformer.from_dataset(
        full,
        hidden_size=8,
        attention_head_size=2,
        dropout=0.0,
        hidden_continuous_size=4,
        loss=QuantileLoss([0.1, 0.5, 0.9]),
    )
    tft_losses, tft_out, quantiles = train(tft, loader, device, 4)

    plain = dataset(frame, categorical_encoders={"group": NaNLabelEncoder().fit(frame["group"])})
    torch.manual_seed(1)
    beats = NBeats.from_dataset(plain, widths=[16, 16], backcast_loss_ratio=0.0, dropout=0.0, loss=SMAPE())
    beats_losses, beats_out, _ = train(beats, plain.to_dataloader(train=False, batch_size=16), device, 4)
    torch.manual_seed(2)
    deep = DeepAR.from_dataset(plain, hidden_size=8, dropout=0.0, loss=NormalDistributionLoss())
    deep = deep.to(device).train()
    x, y = next(iter(plain.to_dataloader(train=False, batch_size=8)))
    x = {k: v.to(device) for k, v in x.items()}
    loss = deep.loss(deep(x)["prediction"], (y[0].to(device), None))
    loss.backward()
    gradients = [p.grad.abs().sum().item() for p in deep.parameters() if p.grad is not None]

    # The usual way: Lightning trains, on the cpu.
    pl.seed_everything(3)
    again = NBeats.from_dataset(plain, widths=[16, 16], learning_rate=1e-2, dropout=0.0, loss=MAE())
    trainer = pl.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        limit_train_batches=3,
        gradient_clip_val=0.1,
    )
    trainer.fit(again, plain.to_dataloader(train=True, batch_size=16, shuffle=False))
    naive = Baseline().predict(
        loader, trainer_kwargs={"accelerator": "cpu", "logger": False, "enable_progress_bar": False}
    )
    return {
        "tft losses": tft_losses,
        "tft": tft_out,
        "quantiles": quantiles,
        "beats losses": beats_losses,
        "beats": beats_out,
        "deep": loss,
        "deep gradients": gradients,
        "lightning": float(trainer.callback_metrics["train_loss_epoch"]),
        "naive": naive,
    }
