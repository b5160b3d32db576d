"""Hugging Face models compute what they compute on PyTorch, train, generate, and are saved and loaded."""

from pathlib import Path

import numpy
import pytest
import torch
import transformers
from checks import sums
from tiny_models import GENERATORS, MODELS, batch, build, results

RECORDED = numpy.load(Path(__file__).parent / "recorded.npz")


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", MODELS)
def test_logits_gradients_and_tokens_are_pytorchs(name, attention, device):
    found = results(name, attention, device)
    found["gradient"] = sums(found["gradient"])
    for key, value in found.items():
        wanted = RECORDED[f"{name}.{attention}.{key}"]
        tolerance = {"logits": 1e-4, "loss": 1e-4, "gradient": 2e-3}.get(key, 0)
        assert value.shape == wanted.shape, key
        assert numpy.abs(value - wanted).max() <= tolerance, key


@pytest.mark.parametrize("name", MODELS)
def test_a_step_of_adamw_lowers_the_loss(name, device):
    model, inputs = build(name).to(device), batch(name, device)
    model.config.use_cache = False
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    before = model(**inputs).loss
    before.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    assert model(**inputs).loss < before


@pytest.mark.parametrize("name", MODELS)
def test_gradient_checkpointing_changes_no_gradient(name, device):
    model, inputs = build(name).to(device).train(), batch(name, device)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        elif isinstance(getattr(module, "dropout", None), float):
            module.dropout = 0.0
    gradients = []
    for checkpointing in (False, True):
        if checkpointing:
            model.gradient_checkpointing_enable()
        model.zero_grad()
        model(**inputs).loss.backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_saved_model_is_the_same_when_loaded(name, dtype, device, tmp_path):
    model, inputs = build(name).to(dtype).to(device), batch(name, device)
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path, dtype=dtype, device_map={"": device}).eval()
    assert next(loaded.parameters()).device.type == device
    wanted = model.state_dict()
    assert wanted.keys() == loaded.state_dict().keys()
    assert all(torch.equal(wanted[key], value) for key, value in loaded.state_dict().items())
    if dtype is torch.float32:  # in bfloat16 the buffers that are not saved were rounded too
        assert torch.equal(model(**inputs).logits, loaded(**inputs).logits)


@pytest.mark.parametrize("name", GENERATORS)
def test_sampling_follows_the_seed(name, device):
    model, inputs = build(name).to(device), batch(name, device)
    prompt = {key: inputs[key] for key in ("input_ids", "attention_mask")}
    drawn = []
    for _ in range(2):
        torch.manual_seed(5)
        drawn.append(
            model.generate(**prompt, max_new_tokens=6, do_sample=True, top_k=20, top_p=0.9, temperature=0.8)
        )
    assert torch.equal(*drawn) and drawn[0].shape[0] == 2


@pytest.mark.parametrize(
    "processor", ["min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "repetition_penalty"]
)
def test_every_way_to_choose_the_next_token_works(processor, device):
    model, inputs = build("gpt2").to(device), batch("gpt2", device)
    value = {"min_p": 0.05, "typical_p": 0.9, "repetition_penalty": 1.3}.get(processor, 3e-4)
    prompt = {key: inputs[key] for key in ("input_ids", "attention_mask")}
    assert model.generate(**prompt, max_new_tokens=3, do_sample=True, **{processor: value}).shape[1] <= 13


def test_a_static_cache_gives_the_tokens_of_a_growing_one(device):
    model, inputs = build("llama").to(device), batch("llama", device)
    prompt = {key: inputs[key] for key in ("input_ids", "attention_mask")}
    growing = model.generate(**prompt, max_new_tokens=5, do_sample=False)
    assert torch.equal(
        growing, model.generate(**prompt, max_new_tokens=5, do_sample=False, cache_implementation="static")
    )


def test_new_tokens_get_embeddings_like_the_old_ones():
    model = build("gpt2")
    model.resize_token_embeddings(120)
    assert model(batch("gpt2")["input_ids"]).logits.shape == (2, 10, 120)


def test_the_device_is_found_by_transformers(device):
    found = {
        "npu": transformers.utils.is_torch_npu_available,
        "cuda": transformers.utils.is_torch_cuda_available,
    }
    assert found.get(device, transformers.utils.is_torch_available)()
