"""A Trainer with callbacks, validation, early stopping, checkpoints and a resumed fit of a small image classifier."""

import lightning as L
import torch
from lightning.pytorch.accelerators import Accelerator, CPUAccelerator
from lightning.pytorch.callbacks import Callback, EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.strategies import SingleDeviceStrategy
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AnyAccelerator(Accelerator):
    """What lightning asks of a device that it has no class for."""

    def setup_device(self, device: torch.device) -> None:
        getattr(torch, device.type).set_device(device)

    def get_device_stats(self, device):
        return getattr(torch, device.type).memory_stats(device)

    def teardown(self) -> None:
        pass

    @staticmethod
    def parse_devices(devices):
        return devices

    @staticmethod
    def get_parallel_devices(devices):
        return devices

    @staticmethod
    def auto_device_count() -> int:
        return 1

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def name() -> str:
        return "any"


class Classifier(L.LightningModule):
    def __init__(self, width: int = 8, rate: float = 1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(width * 16, 3),
        )  # fmt: skip

    def training_step(self, batch, index):
        images, labels = batch
        loss = nn.functional.cross_entropy(self.net(images), labels)
        self.log("train_loss", loss, on_step=True, on_epoch=True, prog_bar=True)
        return loss

    def validation_step(self, batch, index):
        images, labels = batch
        logits = self.net(images)
        self.log("val_loss", nn.functional.cross_entropy(logits, labels))
        self.log("val_accuracy", (logits.argmax(-1) == labels).float().mean())

    def predict_step(self, batch, index):
        return self.net(batch[0]).softmax(-1)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.rate)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.7)]


class Recorder(Callback):
    def __init__(self):
        self.losses, self.norms = [], []

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        self.losses.append(outputs["loss"].item())

    def on_before_optimizer_step(self, trainer, module, optimizer):
        norms = [p.grad.norm() for p in module.parameters()]
        self.norms.append(torch.stack(norms).norm().item())


def trainer_on(device: str, epochs: int, callbacks):
    accelerator = CPUAccelerator() if device == "cpu" else AnyAccelerator()
    strategy = SingleDeviceStrategy(device=torch.device(device), accelerator=accelerator)
    return L.Trainer(
        strategy=strategy, max_epochs=epochs, callbacks=callbacks, logger=CSVLogger("logs"), log_every_n_steps=1,
        enable_progress_bar=False, gradient_clip_val=1.0, deterministic=True,
    )  # fmt: skip


def run(device: str):
    L.seed_everything(7)
    images = torch.randn(48, 1, 8, 8)
    labels = images.mean((1, 2, 3)).mul(10).round().long().remainder(3)
    data = TensorDataset(images, labels)
    train = DataLoader(data, batch_size=8, shuffle=True)
    validation = DataLoader(data, batch_size=16)

    model, recorder = Classifier(), Recorder()
    checkpoint = ModelCheckpoint("checkpoints", monitor="val_loss", save_last=True)
    stopping = EarlyStopping("val_loss", patience=3)
    trainer = trainer_on(device, 3, [recorder, checkpoint, stopping, LearningRateMonitor()])
    trainer.fit(model, train, validation)
    metrics = {name: value.item() for name, value in trainer.callback_metrics.items()}

    again = trainer_on(device, 5, [recorder])
    again.fit(Classifier(), train, validation, ckpt_path=checkpoint.last_model_path)
    best = Classifier.load_from_checkpoint(checkpoint.best_model_path, map_location="cpu")
    predictions = again.predict(best, validation)
    return metrics | {
        "losses": recorder.losses,
        "norms": recorder.norms,
        "best": checkpoint.best_model_score,
        "steps": again.global_step,
        "predictions": torch.cat(predictions),
    }
