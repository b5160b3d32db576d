"""Supervised fine-tuning, then DPO, of a small Qwen2 with a tokenizer of its own."""

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

WORDS = "the a cat dog bird sees likes chases big small red blue fast slow and but tree house river yes no".split()


def tokenizer() -> PreTrainedTokenizerFast:
    vocabulary = {word: index for index, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def sentences(count: int, seed: int) -> list[str]:
    generator = torch.Generator().manual_seed(seed)
    picks = torch.randint(0, len(WORDS), (count, 6), generator=generator)
    return [" ".join(WORDS[i] for i in row) for row in picks.tolist()]


def settings(device: str) -> dict:
    return dict(
        output_dir="out", per_device_train_batch_size=4, max_steps=4, learning_rate=5e-3, logging_steps=1,
        report_to="none", use_cpu=device == "cpu", seed=5, save_strategy="no", bf16=False, gradient_checkpointing=False,
        disable_tqdm=True,
    )  # fmt: skip


def history(trainer, *names: str) -> dict[str, list[float]]:
    return {name: [entry[name] for entry in trainer.state.log_history if name in entry] for name in names}


def run(device: str):
    words = tokenizer()
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(words), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, eos_token_id=1, bos_token_id=None,
        )
    )  # fmt: skip
    tuned = SFTTrainer(
        model, args=SFTConfig(max_length=16, **settings(device)), processing_class=words,
        train_dataset=Dataset.from_dict({"text": sentences(16, 1)}),
    )  # fmt: skip
    tuned.train()
    assert tuned.model.device.type == device
    tuned.save_model("tuned")

    pairs = {"prompt": sentences(12, 2), "chosen": sentences(12, 3), "rejected": sentences(12, 4)}
    preferred = DPOTrainer(
        Qwen2ForCausalLM.from_pretrained("tuned"), args=DPOConfig(beta=0.2, max_length=32, **settings(device)),
        processing_class=words, train_dataset=Dataset.from_dict(pairs),
    )  # fmt: skip
    preferred.train()
    ids = words(sentences(2, 6), return_tensors="pt")["input_ids"].to(device)
    with torch.no_grad():
        logits = preferred.model.eval()(ids).logits
    found = {f"sft_{k}": v for k, v in history(tuned, "loss", "grad_norm", "entropy").items()}
    found |= {
        f"dpo_{k}": v for k, v in history(preferred, "loss", "rewards/margins", "rewards/chosen").items()
    }
    return found | {"logits": logits}
