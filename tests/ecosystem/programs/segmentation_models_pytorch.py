"""Segmenters of pictures: nine decoders with losses and gradients, encoders of five kinds, scores, saving"""

import segmentation_models_pytorch as smp
import torch

DECODERS = (
    "Unet",
    "UnetPlusPlus",
    "FPN",
    "Linknet",
    "PSPNet",
    "DeepLabV3",
    "DeepLabV3Plus",
    "UPerNet",
    "Segformer",
)
ENCODERS = ("efficientnet-b0", "mobilenet_v2", "timm-regnetx_002", "mit_b0", "densenet121")
LOSSES = {
    "dice": smp.losses.DiceLoss("binary"),
    "focal": smp.losses.FocalLoss("binary"),
    "jaccard": smp.losses.JaccardLoss("binary"),
    "lovasz": smp.losses.LovaszLoss("binary"),
    "tversky": smp.losses.TverskyLoss("binary"),
    "soft_bce": smp.losses.SoftBCEWithLogitsLoss(),
}


def run(device):
    out = {}
    torch.manual_seed(0)
    pictures = torch.randn(2, 3, 64, 64).to(device)
    masks = (torch.rand(2, 1, 64, 64) > 0.5).float().to(device)
    for name in DECODERS:
        torch.manual_seed(1)
        # In evaluation: norms over the few elements of so small a batch magnify the last digit.
        model = getattr(smp, name)("resnet18", encoder_weights=None, classes=1).to(device).eval()
        scores = model(pictures)
        losses = {loss: function(scores, masks) for loss, function in LOSSES.items()}
        sum(losses.values()).backward()
        out[name] = scores
        out[f"{name}_losses"] = torch.stack(list(losses.values()))
        out[f"{name}_grad"] = model.encoder.conv1.weight.grad

    counts = smp.metrics.get_stats(scores.sigmoid(), masks.long(), mode="binary", threshold=0.5)
    out["iou"] = smp.metrics.iou_score(*counts, reduction="micro")
    out["f1"] = smp.metrics.f1_score(*counts, reduction="macro-imagewise")

    for name in ENCODERS:
        torch.manual_seed(2)
        model = smp.Unet(name, encoder_weights=None, classes=2).to(device).eval()
        out[name] = model(pictures)

    torch.manual_seed(3)
    model = smp.create_model(
        "unet",
        "resnet18",
        encoder_weights=None,
        classes=3,
        decoder_attention_type="scse",
        aux_params={"classes": 2},
    )
    model.save_pretrained("saved")
    loaded = smp.from_pretrained("saved").to(device).eval()
    out["loaded"], out["classes"] = loaded(pictures)
    return out
