"""Hugging Face's Trainer trains, saves, resumes and evaluates."""

import pytest
from tiny_models import Sequences, build
from transformers import Trainer, TrainingArguments


def arguments(folder, device, **settings):
    known = {
        "max_steps": 20, "per_device_train_batch_size": 8, "learning_rate": 1e-2, "logging_steps": 5, "save_steps": 10,
        "use_cpu": device == "cpu", "report_to": [], "disable_tqdm": True,
    }  # fmt: skip
    return TrainingArguments(str(folder), **known | settings)


def test_twenty_steps_lower_the_loss_and_training_goes_on_from_a_checkpoint(device, tmp_path):
    trainer = Trainer(
        build("gpt2"), arguments(tmp_path, device), train_dataset=Sequences(), eval_dataset=Sequences()
    )
    assert trainer.args.device.type == device
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert trainer.state.global_step == 20 and losses[-1] < losses[0] - 0.5
    assert trainer.evaluate()["eval_loss"] < losses[0]
    longer = arguments(tmp_path, device, max_steps=25)
    resumed = Trainer(build("gpt2"), longer, train_dataset=Sequences())
    assert resumed.train(resume_from_checkpoint=True).global_step == 25
    assert resumed.state.log_history[-1]["train_loss"] < losses[0]


@pytest.mark.parametrize("optimizer", ["adamw_torch", "sgd", "adafactor", "adagrad", "rmsprop"])
def test_optimizers_of_the_trainer(optimizer, tmp_path):
    settings = arguments(tmp_path, "cpu", max_steps=3, optim=optimizer)
    assert Trainer(build("llama"), settings, train_dataset=Sequences()).train()


def test_the_fused_adamw_of_torch_npu_trains_on_the_npu(tmp_path):
    settings = arguments(tmp_path, "npu", max_steps=3, optim="adamw_torch_npu_fused")
    trainer = Trainer(build("llama"), settings, train_dataset=Sequences())
    trainer.train()
    assert type(trainer.optimizer.optimizer).__name__ == "NpuFusedAdamW"


def test_bfloat16_and_worker_processes(device, tmp_path):
    settings = arguments(tmp_path, device, max_steps=4, bf16=True, dataloader_num_workers=1)
    assert Trainer(build("llama"), settings, train_dataset=Sequences()).train().global_step == 4
