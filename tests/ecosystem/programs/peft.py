"""A language model tuned with LoRA, DoRA, IA3 and prompts; adapters are saved, loaded, switched and merged."""

import torch
from peft import IA3Config, LoraConfig, PeftModel, PromptTuningConfig, TaskType, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM


def base_model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=64, attention_dropout=0.0,
        )
    )  # fmt: skip


def train(model, tokens: torch.Tensor, steps: int) -> list[float]:
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    losses = []
    for _ in range(steps):
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def run(device: str):
    result = {}
    torch.manual_seed(1)
    tokens = torch.randint(0, 64, (4, 12)).to(device)

    lora = LoraConfig(
        task_type=TaskType.CAUSAL_LM, r=4, lora_alpha=8, lora_dropout=0.0, target_modules=["q_proj", "v_proj"],
        modules_to_save=["lm_head"],
    )  # fmt: skip
    model = get_peft_model(base_model(), lora).to(device)
    result["trainable"] = list(map(float, model.get_nb_trainable_parameters()))
    result["lora"] = train(model, tokens, 6)
    model.eval()
    result["logits"] = model(tokens).logits
    with model.disable_adapter():
        result["disabled"] = model(tokens).logits
    result["generated"] = model.generate(input_ids=tokens[:, :4], max_new_tokens=5, do_sample=False)
    model.save_pretrained("lora")

    loaded = PeftModel.from_pretrained(base_model(), "lora", torch_device=device).to(device).eval()
    result["loaded"] = loaded(tokens).logits
    dora = LoraConfig(task_type=TaskType.CAUSAL_LM, r=2, use_dora=True, target_modules=["q_proj", "up_proj"])
    loaded.add_adapter("dora", dora)
    loaded.to(device).set_adapter("dora")
    result["dora"] = train(loaded, tokens, 4)
    loaded.set_adapter("default")
    result["merged"] = loaded.eval().merge_and_unload()(tokens).logits

    ia3 = IA3Config(
        task_type=TaskType.CAUSAL_LM,
        target_modules=["k_proj", "v_proj", "down_proj"],
        feedforward_modules=["down_proj"],
    )
    result["ia3"] = train(get_peft_model(base_model(), ia3).to(device), tokens, 4)
    prompts = PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=3)
    torch.manual_seed(2)
    result["prompt"] = train(get_peft_model(base_model(), prompts).to(device), tokens, 4)
    return result
