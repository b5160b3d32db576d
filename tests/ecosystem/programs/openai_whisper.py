"""Log-mel spectrograms; a small Whisper is trained, finds the language and decodes greedily and with beams."""

import torch
import whisper
from whisper.decoding import DecodingOptions
from whisper.model import ModelDimensions, Whisper
from whisper.tokenizer import get_tokenizer


def sound() -> torch.Tensor:
    time = torch.arange(16000 * 2) / 16000
    return 0.3 * torch.sin(2 * torch.pi * 440 * time) + 0.2 * torch.sin(
        2 * torch.pi * (200 + 300 * time) * time
    )


def run(device: str):
    tokenizer = get_tokenizer(multilingual=True, language="en", task="transcribe")
    torch.manual_seed(0)
    dimensions = ModelDimensions(
        n_mels=80, n_audio_ctx=100, n_audio_state=32, n_audio_head=4, n_audio_layer=2, n_vocab=51865, n_text_ctx=24,
        n_text_state=32, n_text_head=4, n_text_layer=2,
    )  # fmt: skip
    model = Whisper(dimensions)
    for parameter in model.parameters():  # its buffers of positions are made empty and come with a checkpoint
        torch.nn.init.normal_(parameter, std=0.08)
    model = model.to(device)

    mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(sound(), 16000 * 2), n_mels=80).to(device)
    on_device = whisper.log_mel_spectrogram(sound(), n_mels=80, device=device)
    batch = torch.stack([mel, mel.flip(-1)])
    tokens = torch.tensor(
        [[*tokenizer.sot_sequence, 11, 22, 33, 44], [*tokenizer.sot_sequence, 55, 44, 11, 99]]
    )
    tokens = tokens.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(3):
        logits = model(batch, tokens[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    model.eval()
    found = {"mel": mel, "mel_on_device": on_device, "losses": losses}
    with torch.no_grad():
        audio = model.embed_audio(batch)
        found["audio"] = audio
        found["logits"] = model.logits(tokens, audio)[..., :500]
    languages, chances = model.detect_language(batch)
    found["languages"] = languages
    found["english"] = [row["en"] for row in chances]
    short = dict(language="en", without_timestamps=True, sample_len=6, fp16=False)
    greedy = whisper.decode(model, batch, DecodingOptions(**short))
    beams = [whisper.decode(model, one, DecodingOptions(beam_size=3, **short)) for one in batch]
    for name, decoded in (("greedy", greedy), ("beams", beams)):
        found[f"{name}_likelihood"] = [one.avg_logprob for one in decoded]
        found[f"{name}_silence"] = [one.no_speech_prob for one in decoded]
    return found
