"""A UNet trained to denoise, sampled with DDPM, DDIM, DPM-Solver++ and Euler; a conditioned UNet, a VAE and a DiT."""

import torch
from diffusers import (
    AutoencoderKL,
    DDIMPipeline,
    DDIMScheduler,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    PixArtTransformer2DModel,
    UNet2DConditionModel,
    UNet2DModel,
)
from diffusers.optimization import get_cosine_schedule_with_warmup
from diffusers.training_utils import EMAModel
from torch.nn import functional as F


def denoiser() -> UNet2DModel:
    return UNet2DModel(
        sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(16, 32),
        norm_num_groups=8, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip


def train(model: UNet2DModel, device: str) -> list[float]:
    schedule = DDPMScheduler(num_train_timesteps=100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rates = get_cosine_schedule_with_warmup(optimizer, 1, 6)
    average = EMAModel(model.parameters(), decay=0.9)
    losses = []
    for _ in range(4):
        images, noise = torch.randn(2, 1, 16, 16), torch.randn(2, 1, 16, 16)
        times = torch.randint(0, 100, (2,))
        noisy = schedule.add_noise(images.to(device), noise.to(device), times.to(device))
        loss = F.mse_loss(model(noisy, times.to(device)).sample, noise.to(device))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rates.step()
        optimizer.zero_grad()
        average.step(model.parameters())
        losses.append(loss.item())
    average.copy_to(model.parameters())
    return losses


@torch.no_grad()
def sample(model: UNet2DModel, schedule, device: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(4)
    schedule.set_timesteps(5)
    image = torch.randn(1, 1, 16, 16, generator=generator).to(device) * schedule.init_noise_sigma
    for t in schedule.timesteps:
        predicted = model(schedule.scale_model_input(image, t), t).sample
        try:
            image = schedule.step(predicted, t, image, generator=generator).prev_sample
        except TypeError:
            image = schedule.step(predicted, t, image).prev_sample
    return image


def run(device: str):
    torch.manual_seed(0)
    found = {}
    model = denoiser().to(device)
    found["losses"] = train(model, device)
    model.eval()
    for kind in (DDPMScheduler, DDIMScheduler, DPMSolverMultistepScheduler, EulerDiscreteScheduler):
        found[kind.__name__] = sample(model, kind(num_train_timesteps=100), device)
    model.save_pretrained("unet")
    pipeline = DDIMPipeline(UNet2DModel.from_pretrained("unet"), DDIMScheduler(num_train_timesteps=100)).to(
        device
    )
    pipeline.set_progress_bar_config(disable=True)
    images = pipeline(
        generator=torch.Generator().manual_seed(1), num_inference_steps=4, output_type="np"
    ).images
    found["pipeline"] = torch.from_numpy(images)

    torch.manual_seed(1)
    conditioned = UNet2DConditionModel(
        sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(16, 32),
        norm_num_groups=8, cross_attention_dim=12, attention_head_dim=4,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    ).to(device)  # fmt: skip
    latents, text = torch.randn(2, 4, 8, 8).to(device), torch.randn(2, 5, 12).to(device)
    found["conditioned"] = conditioned(latents, 7, encoder_hidden_states=text).sample
    found["conditioned"].square().mean().backward()
    found["conditioned_gradient"] = conditioned.conv_in.weight.grad

    vae = AutoencoderKL(block_out_channels=(8, 16), norm_num_groups=4, latent_channels=2, layers_per_block=1,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2).to(device)  # fmt: skip
    latent = vae.encode(torch.randn(1, 3, 16, 16).to(device)).latent_dist
    found["latent"], found["kl"] = latent.mode(), latent.kl()
    found["decoded"] = vae.decode(latent.mode()).sample

    transformer = PixArtTransformer2DModel(num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=4,
        num_layers=2, cross_attention_dim=16, sample_size=8, patch_size=2, caption_channels=12,
        use_additional_conditions=False).to(device)  # fmt: skip
    found["transformer"] = transformer(
        latents, encoder_hidden_states=text, timestep=torch.tensor([3, 9]).to(device),
        added_cond_kwargs={"resolution": None, "aspect_ratio": None},
    ).sample  # fmt: skip
    return found
