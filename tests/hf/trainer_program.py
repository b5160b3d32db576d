"""A training with the Trainer, by any launcher or none: writes the losses of its steps to a file."""

import json
import sys
from pathlib import Path

from tiny_models import Sequences, build
from transformers import HfArgumentParser, Trainer, TrainingArguments


def losses(trainer: Trainer) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def main(file: str, *options: str) -> None:
    (settings,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(list(options))
    trainer = Trainer(build("llama"), settings, train_dataset=Sequences(), eval_dataset=Sequences())
    trainer.train()
    state = trainer.accelerator.get_state_dict(trainer.model_wrapped)
    found = {
        "losses": losses(trainer),
        "norms": [entry["grad_norm"] for entry in trainer.state.log_history if "loss" in entry],
        "evaluated": trainer.evaluate()["eval_loss"],
        "processes": settings.world_size,
        "device": settings.device.type,
        "kind": str(trainer.accelerator.distributed_type),
        "wrapped": type(trainer.model_wrapped).__name__,
    }
    if settings.save_strategy != "no":
        half = Path(settings.output_dir) / f"checkpoint-{settings.max_steps // 2}"
        again = Trainer(build("llama"), settings, train_dataset=Sequences())
        again.train(resume_from_checkpoint=str(half))
        found["resumed"] = losses(again)
    if trainer.is_world_process_zero():
        found["weights"] = {name: float(value.double().norm()) for name, value in state.items()}
        Path(file).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
