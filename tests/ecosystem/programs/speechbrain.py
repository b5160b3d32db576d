"""Speech: filter banks, a speaker network, a Conformer, losses of sequences and mixtures, a Brain, augmentation."""

import speechbrain
import torch
from speechbrain.augment.time_domain import DropChunk, DropFreq, SpeedPerturb
from speechbrain.decoders.ctc import ctc_greedy_decode
from speechbrain.lobes.features import Fbank
from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
from speechbrain.lobes.models.transformer.Conformer import ConformerEncoder
from speechbrain.nnet import losses
from speechbrain.nnet.attention import RelPosEncXL
from speechbrain.processing.features import ISTFT, STFT
from torch import nn


def train(model, forward):
    # With .05 the third loss of the speaker network jumps by 4 % where a feature changes in its last bit.
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    values = []
    for _ in range(3):
        loss = forward(model).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values


class Regression(speechbrain.Brain):
    def compute_forward(self, batch, stage):
        return self.modules.layer(batch[0].to(self.device))

    def compute_objectives(self, predictions, batch, stage):
        return nn.functional.mse_loss(predictions, batch[1].to(self.device))

    def on_stage_end(self, stage, stage_loss, epoch=None):
        self.seen.append(float(stage_loss))


def run(device):
    out = {}
    torch.manual_seed(0)
    wave = torch.randn(5, 4000).to(device)
    features = Fbank(n_mels=20).to(device)(wave)
    spectrum = STFT(16000).to(device)(wave)
    out["features"] = features
    out["wave"] = ISTFT(16000).to(device)(spectrum)

    torch.manual_seed(1)
    speaker = ECAPA_TDNN(
        20,
        channels=[16, 16, 16, 16, 32],
        attention_channels=8,
        lin_neurons=12,
        res2net_scale=4,
        se_channels=8,
        device=device,
    ).to(device)
    out["speaker"] = train(speaker, lambda model: model(features))
    torch.manual_seed(2)
    conformer = ConformerEncoder(1, 20, 32, 4, dropout=0.0).to(device)
    positions = RelPosEncXL(20).to(device)
    out["conformer"] = train(conformer, lambda model: model(features, pos_embs=positions(features))[0])

    torch.manual_seed(3)
    scores = torch.randn(2, 9, 5).to(device).requires_grad_()
    sources, targets = torch.randn(2, 100, 2).to(device).requires_grad_(), torch.randn(2, 100, 2).to(device)
    labels, lengths = torch.randint(1, 5, (2, 9)).to(device), torch.tensor([1.0, 0.7]).to(device)
    found = [
        losses.nll_loss(scores.log_softmax(-1), labels, lengths),
        losses.kldiv_loss(scores.log_softmax(-1), labels, lengths, label_smoothing=0.1),
        losses.ctc_loss(scores.log_softmax(-1), labels[:, :4], lengths, torch.ones(2).to(device), 0),
        losses.get_si_snr_with_pitwrapper(targets, sources).mean(),
        losses.PitWrapper(nn.MSELoss(reduction="none"))(sources, targets)[0].mean(),
    ]
    torch.stack(found).sum().backward()
    out["losses"] = [value.item() for value in found]
    out["gradients"], out["separated"] = scores.grad, sources.grad
    out["decoded"] = [float(t) for row in ctc_greedy_decode(scores.log_softmax(-1), lengths, 0) for t in row]

    torch.manual_seed(4)
    x, y = torch.randn(8, 2, 5), torch.randn(8, 2, 1)
    brain = Regression(
        {"layer": nn.Linear(5, 1)}, lambda p: torch.optim.SGD(p, 0.1), run_opts={"device": device}
    )
    brain.seen = []
    pairs = list(zip(x, y, strict=True))
    brain.fit(range(3), pairs, pairs, progressbar=False)
    brain.evaluate(pairs, progressbar=False)
    out["brain"] = brain.seen

    torch.manual_seed(5)  # the counts are drawn on the cpu
    wave, lengths = wave.cpu(), torch.ones(5)
    out["speed"] = SpeedPerturb(16000, [90])(wave)
    out["dropped"] = DropFreq()(DropChunk(drop_length_low=50, drop_length_high=100)(wave, lengths))
    return out
