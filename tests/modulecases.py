"""One case and more for every module of nn: ``make(library)`` gives the module and its arguments.

The same functions make PyTorch's modules and ours; with the same seed they draw the same inputs.
"""

CASES = {}


def case(name, make, *variants):
    """``make`` takes ``torch``; further variants of the same module follow."""
    for number, variant in enumerate((make, *variants)):
        CASES[name if number == 0 else f"{name}-{number}"] = variant


def classes(t, *shape, count=3):
    """Target classes, as many as asked for."""
    return (t.rand(shape) * count).to(t.int64)


# --- linear, containers, shapes
case("Identity", lambda t: (t.nn.Identity(3, unused=True), (t.rand(2, 3),)))
case(
    "Linear",
    lambda t: (t.nn.Linear(3, 4), (t.rand(2, 3),)),
    lambda t: (t.nn.Linear(3, 4, bias=False), (t.rand(3),)),
)
case("Bilinear", lambda t: (t.nn.Bilinear(3, 2, 4), (t.rand(5, 3), t.rand(5, 2))))
case("LazyLinear", lambda t: (t.nn.LazyLinear(4), (t.rand(2, 3),)))
case(
    "Sequential",
    lambda t: (t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.Linear(4, 2)), (t.rand(2, 3),)),
)
case("Flatten", lambda t: (t.nn.Flatten(), (t.rand(2, 3, 4),)))
case("Unflatten", lambda t: (t.nn.Unflatten(1, (2, 3)), (t.rand(2, 6),)))
case("ChannelShuffle", lambda t: (t.nn.ChannelShuffle(2), (t.rand(1, 4, 2, 2),)))
case("PixelShuffle", lambda t: (t.nn.PixelShuffle(2), (t.rand(1, 8, 2, 3),)))
case("PixelUnshuffle", lambda t: (t.nn.PixelUnshuffle(2), (t.rand(1, 2, 4, 6),)))
case("Fold", lambda t: (t.nn.Fold((4, 5), (2, 2)), (t.rand(1, 12, 12),)))
case("Unfold", lambda t: (t.nn.Unfold((2, 3), padding=1), (t.rand(1, 2, 4, 5),)))

# --- convolutions
for dims in (1, 2, 3):
    shape = (2, 4) + (5, 6, 4)[:dims]
    case(
        f"Conv{dims}d",
        lambda t, n=dims, s=shape: (getattr(t.nn, f"Conv{n}d")(4, 6, 3, padding=1), (t.rand(s),)),
        lambda t, n=dims, s=shape: (
            getattr(t.nn, f"Conv{n}d")(4, 6, 2, stride=2, groups=2, bias=False, dilation=2, padding=1), (t.rand(s),)
        ),
        lambda t, n=dims, s=shape: (
            getattr(t.nn, f"Conv{n}d")(4, 2, 3, padding="same", padding_mode="circular"), (t.rand(s),)
        ),
    )  # fmt: skip
    case(
        f"ConvTranspose{dims}d",
        lambda t, n=dims, s=shape: (
            getattr(t.nn, f"ConvTranspose{n}d")(4, 6, 3, stride=2, padding=1, output_padding=1), (t.rand(s),)
        ),
    )  # fmt: skip
    case(f"LazyConv{dims}d", lambda t, n=dims, s=shape: (getattr(t.nn, f"LazyConv{n}d")(6, 3), (t.rand(s),)))
    case(
        f"LazyConvTranspose{dims}d",
        lambda t, n=dims, s=shape: (getattr(t.nn, f"LazyConvTranspose{n}d")(6, 3), (t.rand(s),)),
    )

# --- pooling
for dims in (1, 2, 3):
    shape = (2, 3) + (8, 6, 4)[:dims]
    for kind, options in {
        "MaxPool": {"kernel_size": 3, "stride": 2, "padding": 1},
        "AvgPool": {"kernel_size": 3, "stride": 2, "padding": 1},
        "AdaptiveAvgPool": {"output_size": 3},
        "AdaptiveMaxPool": {"output_size": 3},
        "LPPool": {"norm_type": 2, "kernel_size": 2},
    }.items():
        name = f"{kind}{dims}d"
        case(name, lambda t, n=name, o=options, s=shape: (getattr(t.nn, n)(**o), (t.rand(s),)))
    case(
        f"MaxUnpool{dims}d",
        lambda t, n=dims, s=shape: (
            getattr(t.nn, f"MaxUnpool{n}d")(2),
            getattr(t.nn, f"MaxPool{n}d")(2, return_indices=True)(t.rand(s)),
        ),
    )
for dims in (2, 3):
    case(
        f"FractionalMaxPool{dims}d",
        lambda t, n=dims: (
            getattr(t.nn, f"FractionalMaxPool{n}d")(2, output_size=3, _random_samples=t.rand(2, 3, n)),
            (t.rand((2, 3) + (8, 7, 6)[:n]),),
        ),
    )

# --- padding and interpolation
for dims in (1, 2, 3):
    for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero"):
        name = f"{kind}Pad{dims}d"
        value = (1.5,) if kind == "Constant" else ()
        case(
            name,
            lambda t, n=name, d=dims, v=value: (
                getattr(t.nn, n)((1, 2, 1, 0, 2, 1)[: 2 * d], *v), (t.rand((2, 3) + (4, 5, 4)[:d]),)
            ),
        )  # fmt: skip
case(
    "Upsample",
    lambda t: (t.nn.Upsample(scale_factor=2), (t.rand(1, 2, 3, 4),)),
    lambda t: (t.nn.Upsample(size=(5, 7), mode="bicubic", align_corners=True), (t.rand(1, 2, 3, 4),)),
)
case("UpsamplingNearest2d", lambda t: (t.nn.UpsamplingNearest2d(6), (t.rand(1, 2, 3, 4),)))
case("UpsamplingBilinear2d", lambda t: (t.nn.UpsamplingBilinear2d(scale_factor=2), (t.rand(1, 2, 3, 4),)))

# --- activations
for name in (
    "ReLU", "ReLU6", "ELU", "SELU", "CELU", "GELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "Hardtanh",
    "LeakyReLU", "PReLU", "Sigmoid", "LogSigmoid", "Tanh", "Tanhshrink", "Softsign", "Softplus", "Hardshrink",
    "Softshrink", "GLU", "RReLU",
):  # fmt: skip
    case(name, lambda t, n=name: (getattr(t.nn, n)(), (t.rand(3, 4) * 6 - 3,)))
case("Threshold", lambda t: (t.nn.Threshold(0.4, 7.0), (t.rand(3, 4),)))
for name in ("Softmax", "LogSoftmax", "Softmin"):
    case(name, lambda t, n=name: (getattr(t.nn, n)(dim=1), (t.rand(3, 4),)))
case("Softmax2d", lambda t: (t.nn.Softmax2d(), (t.rand(2, 3, 2, 2),)))

# --- dropout: evaluated here, drawn in training by the parity tests
for name, shape in {
    "Dropout": (3, 4),
    "Dropout1d": (2, 3, 4),
    "Dropout2d": (2, 3, 4, 4),
    "Dropout3d": (2, 3, 2, 2, 2),
    "AlphaDropout": (3, 4),
    "FeatureAlphaDropout": (2, 3, 4),
}.items():
    case(name, lambda t, n=name, s=shape: (getattr(t.nn, n)(0.3), (t.rand(s),)))

# --- normalisation
for dims in (1, 2, 3):
    shape = (3, 4) + (5, 3, 2)[:dims]
    for kind in ("BatchNorm", "InstanceNorm", "LazyBatchNorm", "LazyInstanceNorm"):
        name = f"{kind}{dims}d"
        size = () if kind.startswith("Lazy") else (4,)
        case(
            name,
            lambda t, n=name, z=size, s=shape: (getattr(t.nn, n)(*z), (t.rand(s),)),
            lambda t, n=name, z=size, s=shape: (
                getattr(t.nn, n)(*z, affine=True, track_running_stats=True, momentum=0.3, bias=False), (t.rand(s),)
            ),
        )  # fmt: skip
case("SyncBatchNorm", lambda t: (t.nn.SyncBatchNorm(4), (t.rand(3, 4, 2),)))
case("LayerNorm", lambda t: (t.nn.LayerNorm((3, 4)), (t.rand(2, 3, 4),)))
case("RMSNorm", lambda t: (t.nn.RMSNorm(4), (t.rand(2, 3, 4),)))
case("GroupNorm", lambda t: (t.nn.GroupNorm(2, 4), (t.rand(2, 4, 3),)))
case("LocalResponseNorm", lambda t: (t.nn.LocalResponseNorm(3), (t.rand(2, 5, 3, 3),)))
case("CrossMapLRN2d", lambda t: (t.nn.CrossMapLRN2d(3, alpha=0.5), (t.rand(2, 5, 3, 3),)))

# --- recurrent
for name in ("RNN", "LSTM", "GRU"):
    case(
        name,
        lambda t, n=name: (getattr(t.nn, n)(3, 4), (t.rand(5, 2, 3),)),
        lambda t, n=name: (
            getattr(t.nn, n)(3, 4, num_layers=2, bidirectional=True, batch_first=True, bias=False), (t.rand(2, 5, 3),)
        ),
        lambda t, n=name: (
            getattr(t.nn, n)(3, 4, bidirectional=True),
            (t.nn.utils.rnn.pack_sequence([t.rand(k, 3) for k in (2, 4, 1)], enforce_sorted=False),),
        ),
    )  # fmt: skip
    case(f"{name}Cell", lambda t, n=name: (getattr(t.nn, f"{n}Cell")(3, 4), (t.rand(2, 3),)))
CASES["LSTM-projected"] = lambda t: (t.nn.LSTM(3, 5, proj_size=2, num_layers=2), (t.rand(4, 2, 3),))

# --- attention and transformers
case(
    "MultiheadAttention",
    lambda t: (t.nn.MultiheadAttention(4, 2), (t.rand(3, 2, 4), t.rand(5, 2, 4), t.rand(5, 2, 4))),
    lambda t: (
        t.nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, kdim=3, vdim=5, batch_first=True),
        (t.rand(2, 3, 4), t.rand(2, 6, 3), t.rand(2, 6, 5), t.rand(2, 6) > 0.7),
    ),
)
case(
    "TransformerEncoderLayer",
    lambda t: (t.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), (t.rand(3, 2, 4),)),
    lambda t: (
        t.nn.TransformerEncoderLayer(
            4, 2, 8, dropout=0.0, activation="gelu", norm_first=True, batch_first=True
        ),
        (t.rand(2, 3, 4), t.nn.Transformer.generate_square_subsequent_mask(3)),
    ),
)
case(
    "TransformerDecoderLayer",
    lambda t: (t.nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0), (t.rand(3, 2, 4), t.rand(5, 2, 4))),
)
case(
    "TransformerEncoder",
    lambda t: (
        t.nn.TransformerEncoder(
            t.nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), 2, t.nn.LayerNorm(4)
        ),
        (t.rand(2, 3, 4), None, t.tensor([[False, False, True], [False, True, True]])),
    ),
)
case(
    "TransformerDecoder",
    lambda t: (
        t.nn.TransformerDecoder(t.nn.TransformerDecoderLayer(4, 2, 8, 0.0), 2),
        (t.rand(3, 2, 4), t.rand(5, 2, 4), t.nn.Transformer.generate_square_subsequent_mask(3)),
    ),
)
case(
    "Transformer",
    lambda t: (
        t.nn.Transformer(4, 2, 1, 1, 8, dropout=0.0, batch_first=True),
        (t.rand(2, 3, 4), t.rand(2, 5, 4)),
    ),
)

# --- embeddings and distances
case("Embedding", lambda t: (t.nn.Embedding(5, 3, padding_idx=1), (classes(t, 2, 4, count=5),)))
for mode in ("sum", "mean", "max"):
    CASES[f"EmbeddingBag-{mode}"] = lambda t, m=mode: (
        t.nn.EmbeddingBag(5, 3, mode=m),
        (classes(t, 6, count=5), t.tensor([0, 2, 2])),
    )
case("CosineSimilarity", lambda t: (t.nn.CosineSimilarity(), (t.rand(3, 4), t.rand(3, 4))))
case("PairwiseDistance", lambda t: (t.nn.PairwiseDistance(keepdim=True), (t.rand(3, 4), t.rand(3, 4))))

# --- losses
for name in (
    "L1Loss",
    "MSELoss",
    "SmoothL1Loss",
    "HuberLoss",
    "BCELoss",
    "BCEWithLogitsLoss",
    "PoissonNLLLoss",
):
    case(name, lambda t, n=name: (getattr(t.nn, n)(), (t.rand(3, 4), t.rand(3, 4))))
case("KLDivLoss", lambda t: (t.nn.KLDivLoss(reduction="batchmean"), (t.rand(3, 4).log(), t.rand(3, 4))))
case(
    "GaussianNLLLoss",
    lambda t: (t.nn.GaussianNLLLoss(full=True), (t.rand(3, 4), t.rand(3, 4), t.rand(3, 4) + 0.5)),
)
for name in ("NLLLoss", "CrossEntropyLoss", "MultiMarginLoss"):
    case(name, lambda t, n=name: (getattr(t.nn, n)(weight=t.rand(3)), (t.rand(4, 3), classes(t, 4))))
case("NLLLoss2d", lambda t: (t.nn.NLLLoss2d(), (t.rand(2, 3, 2, 2), classes(t, 2, 2, 2))))
case(
    "LinearCrossEntropyLoss",
    lambda t: (t.nn.LinearCrossEntropyLoss(4, 3, bias=True), (t.rand(5, 4), classes(t, 5))),
)
case(
    "MultiLabelMarginLoss",
    lambda t: (t.nn.MultiLabelMarginLoss(), (t.rand(2, 3), t.tensor([[2, 0, -1], [1, -1, 0]]))),
)
case(
    "MultiLabelSoftMarginLoss",
    lambda t: (t.nn.MultiLabelSoftMarginLoss(), (t.rand(2, 3), classes(t, 2, 3, count=2))),
)
for name in ("SoftMarginLoss", "HingeEmbeddingLoss"):
    case(name, lambda t, n=name: (getattr(t.nn, n)(), (t.rand(4), classes(t, 4, count=2) * 2 - 1)))
for name, shape in {"CosineEmbeddingLoss": (4, 3), "MarginRankingLoss": (4,)}.items():
    case(
        name,
        lambda t, n=name, s=shape: (
            getattr(t.nn, n)(margin=0.2), (t.rand(s), t.rand(s), classes(t, 4, count=2) * 2 - 1)
        ),
    )  # fmt: skip
for name in ("TripletMarginLoss", "TripletMarginWithDistanceLoss"):
    case(name, lambda t, n=name: (getattr(t.nn, n)(swap=True), (t.rand(4, 3), t.rand(4, 3), t.rand(4, 3))))
case(
    "CTCLoss",
    lambda t: (
        t.nn.CTCLoss(),
        (t.rand(6, 2, 4).log_softmax(-1), classes(t, 2, 3) + 1, t.tensor([6, 5]), t.tensor([3, 2])),
    ),
)
case(
    "AdaptiveLogSoftmaxWithLoss",
    lambda t: (
        t.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], 2.0, True),
        (t.rand(7, 8), classes(t, 7, count=10)),
    ),
)

# Modules without a forward of their own.
NOT_CALLED = {
    "Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNNBase", "RNNCellBase",
}  # fmt: skip


def tensors(value, kind):
    """All tensors of ``kind`` in a nest of lists, tuples and dictionaries."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors(v, kind)] if isinstance(value, (list, tuple)) else []
