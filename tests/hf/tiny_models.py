"""Small Hugging Face models from configurations, with weights and inputs that numpy draws: the same for any torch."""

from __future__ import annotations

import numpy
import torch
import transformers

_TEXT = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
_DECODER = _TEXT | {"num_key_value_heads": 2, "intermediate_size": 37, "max_position_embeddings": 64}
_ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}

MODELS = ("bert", "gpt2", "llama", "qwen2", "mistral", "t5", "vit")
GENERATORS = ("gpt2", "llama", "qwen2", "mistral", "t5")


def build(name: str, attention: str = "sdpa") -> torch.nn.Module:
    """The model in evaluation mode."""
    settings = {"attn_implementation": attention}
    if name == "bert":
        settings |= _TEXT | {"intermediate_size": 37, "max_position_embeddings": 64, "num_labels": 3}
        model = transformers.BertForSequenceClassification(transformers.BertConfig(**settings))
    elif name == "gpt2":
        settings |= {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64} | _ENDS
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings))
    elif name == "llama":
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**settings, **_DECODER, **_ENDS))
    elif name == "qwen2":
        model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**settings, **_DECODER, **_ENDS))
    elif name == "mistral":
        settings |= _DECODER | _ENDS | {"sliding_window": 8}
        model = transformers.MistralForCausalLM(transformers.MistralConfig(**settings))
    elif name == "t5":
        settings |= {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4}
        settings |= {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0}
        model = transformers.T5ForConditionalGeneration(transformers.T5Config(**settings))
    else:
        settings |= {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 37,
        }
        settings |= {"image_size": 16, "patch_size": 4, "num_labels": 3}
        model = transformers.ViTForImageClassification(transformers.ViTConfig(**settings))
    _fill(model)
    return model.eval()


def _fill(model: torch.nn.Module) -> None:
    random = numpy.random.RandomState(0)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            values = 0.2 * random.standard_normal(tuple(parameter.shape)).astype(numpy.float32)
            parameter.copy_(torch.from_numpy(values))


class Sequences(torch.utils.data.Dataset):
    """Random sequences over a few tokens, which a model learns to expect."""

    def __init__(self) -> None:
        self.ids = torch.randint(3, 20, (64, 12), generator=torch.Generator().manual_seed(2))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.ids[index], "labels": self.ids[index]}


def batch(name: str, device: str = "cpu") -> dict[str, torch.Tensor]:
    """Two examples with labels."""
    random = numpy.random.RandomState(1)
    if name == "vit":
        pixels = random.standard_normal((2, 3, 16, 16)).astype(numpy.float32)
        found = {"pixel_values": torch.from_numpy(pixels), "labels": torch.tensor([0, 2])}
    else:
        ids = torch.from_numpy(random.randint(3, 99, (2, 10)))
        mask = torch.ones(2, 10, dtype=torch.long)
        mask[1, :3] = 0  # padded on the left, as for generation
        found = {"input_ids": ids, "attention_mask": mask}
        found["labels"] = torch.tensor([0, 2]) if name == "bert" else ids.clone()
    return {key: value.to(device) for key, value in found.items()}


def results(name: str, attention: str, device: str = "cpu") -> dict[str, numpy.ndarray]:
    """What the model gives: logits, loss, the gradient of every parameter, and tokens."""
    model, inputs = build(name, attention).to(device), batch(name, device)
    output = model(**inputs)
    output.loss.backward()
    gradients = [p.grad.reshape(-1) for _, p in sorted(model.named_parameters()) if p.grad is not None]
    found = {"logits": output.logits, "loss": output.loss, "gradient": torch.cat(gradients)}
    if name in GENERATORS:
        prompt = {key: inputs[key] for key in ("input_ids", "attention_mask")}
        found["greedy"] = model.generate(**prompt, max_new_tokens=6, do_sample=False)
        found["beams"] = model.generate(**prompt, max_new_tokens=6, num_beams=2, do_sample=False)
    return {key: value.detach().cpu().numpy() for key, value in found.items()}
