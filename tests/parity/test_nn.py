"""nn, init and losses against PyTorch."""

import itertools

import numpy as np
import pytest


def same(ours, theirs, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(
        np.asarray(ours.detach().tolist()), np.asarray(theirs.detach().tolist()), rtol, atol
    )


@pytest.mark.parametrize(
    "fill",
    ["uniform_", "normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_"],
)
@pytest.mark.parametrize("shape", [(3, 5), (40, 30), (4, 3, 3, 3)])
def test_the_same_seed_gives_the_same_first_values(both, fill, shape):
    torch, ours = both
    theirs_tensor = getattr(torch.nn.init, fill)(torch.empty(shape))
    ours_tensor = getattr(ours.nn.init, fill)(ours.empty(shape))
    same(ours_tensor, theirs_tensor, rtol=1e-6, atol=1e-7)


def test_dropout_drops_the_same_elements(both):
    torch, ours = both
    same(ours.nn.functional.dropout(ours.ones(1000), 0.3), torch.nn.functional.dropout(torch.ones(1000), 0.3))


LAYOUTS = {"one": ((5,), ()), "batch": ((4, 5), (4,)), "image": ((2, 5, 3, 2), (2, 3, 2))}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(
    ("weighted", "smoothing", "ignore"), list(itertools.product([False, True], [0.0, 0.2], [-100, 1]))
)
def test_cross_entropy_and_its_gradient(both, layout, reduction, weighted, smoothing, ignore):
    random = np.random.default_rng(0)
    shape, target_shape = LAYOUTS[layout]
    values = random.normal(size=shape).astype(np.float32)
    classes = np.array(random.integers(0, 5, target_shape), dtype=np.int64)
    if layout == "one":
        classes = np.array(3, dtype=np.int64)
    weights = random.uniform(0.5, 2.0, 5).astype(np.float32)
    results = []
    for module in both:
        x = module.tensor(values.tolist(), requires_grad=True)
        loss = module.nn.functional.cross_entropy(
            x,
            module.tensor(classes.tolist()),
            weight=module.tensor(weights.tolist()) if weighted else None,
            ignore_index=ignore,
            reduction=reduction,
            label_smoothing=smoothing,
        )
        loss.sum().backward()
        results.append((loss, x.grad))
    (loss, gradient), (our_loss, our_gradient) = results
    same(our_loss, loss)
    same(our_gradient, gradient)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_probabilities_and_squares(both, reduction):
    random = np.random.default_rng(0)
    values = random.normal(size=(4, 5)).tolist()
    target = random.uniform(size=(4, 5)).tolist()
    results = []
    for module in both:
        F = module.nn.functional
        x, y = module.tensor(values, requires_grad=True), module.tensor(target)
        loss = (
            F.cross_entropy(x, y, reduction=reduction, label_smoothing=0.1)
            + F.mse_loss(x, y, reduction=reduction).sum()
        )
        loss.sum().backward()
        results.append((loss, x.grad))
    same(results[1][0], results[0][0])
    same(results[1][1], results[0][1])


def test_a_network_prints_and_saves_alike(both):
    texts, keys = [], []
    for module in both:
        nn = module.nn
        net = nn.Sequential(
            nn.Flatten(),
            nn.Linear(4, 3),
            nn.ReLU(inplace=True),
            nn.Dropout(0.1),
            nn.ModuleList([nn.Tanh(), nn.Tanh(), nn.Identity()]),
            nn.Softmax(dim=1),
            nn.CrossEntropyLoss(weight=module.ones(3)),
        )
        texts.append(repr(net))
        keys.append(list(net.state_dict()))
    assert texts[0] == texts[1]
    assert keys[0] == keys[1]


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("size", [(24, 30), (48, 60), (20, 24), (40, 9)], ids=str)
@pytest.mark.parametrize("channels", [3, 6])
def test_pictures_of_bytes_are_interpolated_in_pytorchs_fixed_point(both, channels, size, antialias, mode):
    picture = np.random.default_rng(0).integers(0, 256, (2, channels, 32, 40), np.uint8)
    options = {"size": size, "mode": mode, "antialias": antialias}
    for memory_format in ("contiguous_format", "channels_last"):
        first, second = (
            lib.nn.functional.interpolate(
                lib.from_numpy(picture).to(memory_format=getattr(lib, memory_format)), **options
            )
            for lib in both
        )
        np.testing.assert_array_equal(first.numpy(), second.numpy())
