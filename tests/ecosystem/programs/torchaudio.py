"""Spectra, filters, effects, resampling, a transducer's loss, forced alignment, and small speech models trained."""

import math

import torch
import torchaudio
from torchaudio import functional as A
from torchaudio import models, transforms


def waves(count: int, length: int) -> torch.Tensor:
    time = torch.arange(length) / 16000
    tones = [torch.sin(2 * math.pi * (200 + 170 * k) * time * (1 + time)) for k in range(count)]
    return torch.stack(tones) * torch.linspace(0.2, 0.8, length)


def spectra(device: str) -> dict:
    sound = waves(2, 4000).to(device)
    found = {
        "spectrogram": transforms.Spectrogram(256, power=2.0).to(device)(sound),
        "mel": transforms.MelSpectrogram(16000, 256, n_mels=20).to(device)(sound),
        "mfcc": transforms.MFCC(16000, 13, melkwargs={"n_fft": 256, "n_mels": 20}).to(device)(sound),
        "lfcc": transforms.LFCC(16000, n_lfcc=10, speckwargs={"n_fft": 256}).to(device)(sound),
        "db": transforms.AmplitudeToDB(top_db=60).to(device)(sound.abs() + 0.1),
        "resampled": transforms.Resample(16000, 11025).to(device)(sound),
        "centroid": transforms.SpectralCentroid(16000, 256).to(device)(sound)[:, 4:-4],
        "deltas": A.compute_deltas(transforms.Spectrogram(128).to(device)(sound)),
        "cmn": A.sliding_window_cmn(transforms.Spectrogram(64).to(device)(sound).transpose(1, 2), 50),
        "mulaw": A.mu_law_decoding(A.mu_law_encoding(sound, 256), 256),
    }
    complex_spectrum = transforms.Spectrogram(256, power=None).to(device)(sound)
    found["inverse"] = transforms.InverseSpectrogram(256).to(device)(complex_spectrum, 4000)
    stretched = transforms.TimeStretch(n_freq=129, fixed_rate=1.2).to(device)(complex_spectrum)
    found["stretched"] = stretched.abs()
    found["griffin_lim"] = transforms.GriffinLim(256, n_iter=4, rand_init=False).to(device)(
        found["spectrogram"]
    )
    torch.manual_seed(0)
    masked = transforms.FrequencyMasking(20)(transforms.TimeMasking(10)(found["mel"].cpu()))
    return found | {"masked": masked}


def effects(device: str) -> dict:
    sound = (waves(2, 3000) * 0.5).to(device)
    numerator, denominator = (
        torch.tensor([0.3, 0.4, 0.2]).to(device),
        torch.tensor([1.0, -0.5, 0.25]).to(device),
    )
    found = {
        "lfilter": A.lfilter(sound, denominator, numerator),
        "filtfilt": A.filtfilt(sound, denominator, numerator),
        "lowpass": A.lowpass_biquad(sound, 16000, 1000.0),
        "highpass": A.highpass_biquad(sound, 16000, 500.0),
        "band": A.bandpass_biquad(sound, 16000, 800.0),
        "equalizer": A.equalizer_biquad(sound, 16000, 900.0, 6.0),
        "treble": A.treble_biquad(sound, 16000, 3.0),
        "overdrive": A.overdrive(sound[:, :400], 10, 15),
        "phaser": A.phaser(sound[:, :400], 16000),
        "contrast": A.contrast(sound),
        "gain": A.gain(sound, 3.0),
        "convolved": A.fftconvolve(sound, sound[:, :50]),
        "noisy": A.add_noise(sound, sound.flip(0), torch.tensor([10.0, 5.0]).to(device)),
        "preemphasis": A.preemphasis(sound),
        "deemphasis": A.deemphasis(sound),
    }
    filters = denominator.clone().requires_grad_()
    A.lfilter(sound, filters, numerator, clamp=False).square().mean().backward()
    return found | {"lfilter.grad": filters.grad}


def sequences(device: str) -> dict:
    torch.manual_seed(1)
    logits = torch.randn(2, 8, 4, 6).to(device).requires_grad_()
    targets = torch.tensor([[1, 2, 3], [4, 2, 0]], dtype=torch.int32).to(device)
    times, labels = (torch.tensor(n, dtype=torch.int32).to(device) for n in ([8, 6], [3, 2]))
    loss = A.rnnt_loss(logits, targets, times, labels, blank=5)
    loss.backward()
    log_probs = torch.randn(1, 30, 6).log_softmax(-1).to(device)
    path, scores = A.forced_align(log_probs, torch.tensor([[1, 2, 2, 4]]).to(device))
    spans = A.merge_tokens(path[0], scores[0])
    return {
        "rnnt": loss,
        "rnnt.grad": logits.grad,
        "path": path,
        "scores": scores,
        "spans": [float(span.start) for span in spans],
        "distance": float(A.edit_distance("kitten", "sitting")),
    }


def speech(device: str) -> dict:
    torch.manual_seed(2)
    encoder = models.Conformer(20, 2, 32, 2, 5).to(device)
    head = torch.nn.Linear(20, 5).to(device)
    parameters = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    mel = transforms.MelSpectrogram(16000, 256, n_mels=20).to(device)
    features = mel(waves(2, 4000).to(device)).add(1e-3).log().transpose(1, 2)
    lengths = torch.tensor([features.shape[1]] * 2)
    targets = torch.tensor([[1, 2, 3], [4, 2, 1]]).to(device)
    losses = []
    for _ in range(3):
        encoded, _ = encoder(features, lengths.to(device))
        log_probs = head(encoded).log_softmax(-1).transpose(0, 1)
        loss = torch.nn.functional.ctc_loss(log_probs, targets, lengths, torch.tensor([3, 3]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    torch.manual_seed(3)
    wav2vec = models.wav2vec2_model(
        extractor_mode="group_norm",
        extractor_conv_layer_config=[(16, 10, 5), (16, 3, 2)],
        extractor_conv_bias=False,
        encoder_embed_dim=24,
        encoder_projection_dropout=0.0,
        encoder_pos_conv_kernel=8,
        encoder_pos_conv_groups=2,
        encoder_num_layers=2,
        encoder_num_heads=2,
        encoder_attention_dropout=0.0,
        encoder_ff_interm_features=32,
        encoder_ff_interm_dropout=0.0,
        encoder_dropout=0.0,
        encoder_layer_norm_first=False,
        encoder_layer_drop=0.0,
        aux_num_out=7,
    )
    letters = models.Wav2Letter(num_classes=6, input_type="mfcc", num_features=20)
    separator = models.ConvTasNet(num_sources=2, enc_kernel_size=16, enc_num_feats=16, msk_num_feats=8,
                                  msk_num_hidden_feats=16, msk_num_layers=2, msk_num_stacks=1)  # fmt: skip
    with torch.no_grad():
        return {
            "losses": losses,
            "wav2vec2": wav2vec.to(device).eval()(waves(2, 1600).to(device))[0],
            "wav2letter": letters.to(device).eval()(features.transpose(1, 2)),
            "separated": separator.to(device).eval()(waves(2, 800).unsqueeze(1).to(device)),
        }


def run(device: str):
    assert torchaudio.__version__
    parts = {
        "spectra": spectra(device),
        "effects": effects(device),
        "sequences": sequences(device),
        "speech": speech(device),
    }
    return {f"{part}.{name}": value for part, values in parts.items() for name, value in values.items()}
