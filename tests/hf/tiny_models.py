"""Small Hugging Face models from configurations, with random weights, and inputs for each."""

from __future__ import annotations

import torch
import transformers

_TEXT = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
_DECODER = _TEXT | {"num_key_value_heads": 2, "intermediate_size": 37, "max_position_embeddings": 64}
_ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}

MODELS = ("bert", "gpt2", "llama", "qwen2", "mistral", "t5", "vit")
GENERATORS = ("gpt2", "llama", "qwen2", "mistral", "t5")


def build(name: str) -> torch.nn.Module:
    """The model with the weights that seed 0 gives, in evaluation mode."""
    torch.manual_seed(0)
    if name == "bert":
        config = transformers.BertConfig(**_TEXT, intermediate_size=37, max_position_embeddings=64, num_labels=3)
        model = transformers.BertForSequenceClassification(config)
    elif name == "gpt2":
        sizes = {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **_ENDS))
    elif name == "llama":
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**_DECODER, **_ENDS))
    elif name == "qwen2":
        model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**_DECODER, **_ENDS))
    elif name == "mistral":
        model = transformers.MistralForCausalLM(transformers.MistralConfig(**_DECODER, **_ENDS, sliding_window=8))
    elif name == "t5":
        sizes = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4}
        ends = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0}
        model = transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes, **ends))
    else:
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37}
        config = transformers.ViTConfig(**sizes, image_size=16, patch_size=4, num_labels=3)
        model = transformers.ViTForImageClassification(config)
    return model.eval()


def batch(name: str) -> dict[str, torch.Tensor]:
    """Inputs and labels, from the numbers that seed 1 gives."""
    torch.manual_seed(1)
    if name == "vit":
        return {"pixel_values": torch.randn(2, 3, 16, 16), "labels": torch.tensor([0, 2])}
    ids = torch.randint(3, 99, (2, 10))
    mask = torch.ones(2, 10, dtype=torch.long)
    mask[1, 7:] = 0
    labels = torch.tensor([0, 2]) if name == "bert" else ids.clone()
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}
