"""autocast's dtypes and losses on the host, and sequences of GradScaler, against PyTorch."""

import importlib

import numpy as np
import pytest
from codegen import autocast
from codegen.row import PACKAGES
from codegen.table import load_table


def values(module, *shape, dtype=None, seed=0, positive=False):
    numbers = np.random.default_rng(seed).normal(size=shape)
    return module.tensor((np.abs(numbers) if positive else numbers).tolist(), dtype=dtype or module.float32)


def name_of(dtype):
    return str(dtype).split(".")[-1]


OPS = {
    "mm": lambda m, x: m.mm(x, x),
    "matmul": lambda m, x: x @ x,
    "bmm": lambda m, x: m.bmm(x[None], x[None]),
    "addmm": lambda m, x: m.addmm(x, x, x),
    "baddbmm": lambda m, x: m.baddbmm(x[None], x[None], x[None]),
    "linear": lambda m, x: m.nn.functional.linear(x, x, x[0]),
    "conv1d": lambda m, x: m.nn.functional.conv1d(x[None], x[:, :, None]),
    "conv2d": lambda m, x: m.nn.functional.conv2d(x[None, None], x[None, None]),
    "attention": lambda m, x: m.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    "prelu": lambda m, x: m.prelu(x, x[0, :1]),
    "add": lambda m, x: x + x,
    "mul": lambda m, x: x * 2,
    "exp": lambda m, x: m.exp(x),
    "softmax": lambda m, x: m.softmax(x, -1),
    "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, (4,)),
    "sum": lambda m, x: x.sum(),
    "mean": lambda m, x: x.mean(),
    "prod": lambda m, x: m.prod(x),
    "relu": lambda m, x: m.relu(x),
    "gelu": lambda m, x: m.nn.functional.gelu(x),
    "cat": lambda m, x: m.cat([x, x.float()]),
    "cat lower": lambda m, x: m.cat([x, x]),
    "stack": lambda m, x: m.stack([x, x.float()]),
    "cross_entropy": lambda m, x: m.nn.functional.cross_entropy(x, m.tensor([0, 1, 2, 3])),
    "nll_loss": lambda m, x: m.nn.functional.nll_loss(x, m.tensor([0, 1, 2, 3])),
    "mse_loss": lambda m, x: m.nn.functional.mse_loss(x, x * 2),
    "l1_loss": lambda m, x: m.nn.functional.l1_loss(x, x * 2),
    "smooth_l1_loss": lambda m, x: m.nn.functional.smooth_l1_loss(x, x * 2),
    "huber_loss": lambda m, x: m.nn.functional.huber_loss(x, x * 2),
    "bce": lambda m, x: m.nn.functional.binary_cross_entropy(m.sigmoid(x), m.sigmoid(x)),
    "bce logits": lambda m, x: m.nn.functional.binary_cross_entropy_with_logits(x, x),
    "kl_div": lambda m, x: m.nn.functional.kl_div(x, x.abs(), reduction="sum"),
    "poisson": lambda m, x: m.nn.functional.poisson_nll_loss(x, x.abs()),
    "soft margin": lambda m, x: m.nn.functional.soft_margin_loss(x, x.sign()),
    "hinge": lambda m, x: m.nn.functional.hinge_embedding_loss(x, x.sign()),
    "ranking": lambda m, x: m.nn.functional.margin_ranking_loss(x, x * 2, x.sign()),
    "triplet": lambda m, x: m.nn.functional.triplet_margin_loss(x, x * 2, x * 3),
    "cosine embedding": lambda m, x: m.nn.functional.cosine_embedding_loss(x, x * 2, m.ones(4)),
    "multi margin": lambda m, x: m.nn.functional.multi_margin_loss(x, m.tensor([0, 1, 2, 3])),
    "inverse": lambda m, x: m.linalg.inv(x),
    "svdvals": lambda m, x: m.linalg.svdvals(x),
    "trace": lambda m, x: m.trace(x),
    "quantile": lambda m, x: m.quantile(x, 0.5),
    "fft": lambda m, x: m.fft.rfft(x),
    "avg_pool3d": lambda m, x: m.nn.functional.avg_pool3d(x[None, None, None], (1, 2, 2)),
    "reflection": lambda m, x: m.nn.functional.pad(x[None], (1, 1), mode="reflect"),
    "index_copy": lambda m, x: m.index_copy(x, 0, m.tensor([0]), x.float()[:1].to(x.dtype)),
    "einsum": lambda m, x: m.einsum("ij,jk->ik", x, x),
    "mv": lambda m, x: m.mv(x, x[0]),
    "dot": lambda m, x: m.dot(x[0], x[0]),
    "cdist": lambda m, x: m.cdist(x, x),
    "in place": lambda m, x: x.clone().add_(1),
    "norm": lambda m, x: m.norm(x.float()),
    "linear module": lambda m, x: m.nn.Linear(4, 2)(x),
    "view": lambda m, x: x.t(),
    "integers": lambda m, x: m.ones(2, 2, dtype=m.int64) @ m.ones(2, 2, dtype=m.int64),
}


@pytest.mark.parametrize("given", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
def test_results_have_pytorchs_dtype(both, op, lower, given):
    found = []
    for module in both:
        x = values(module, 4, 4, dtype=getattr(module, given))
        with module.autocast("cpu", dtype=getattr(module, lower)):
            try:
                found.append(name_of(op(module, x).dtype))
            except (RuntimeError, NotImplementedError, ValueError) as error:
                found.append(type(error).__name__)
    theirs, ours = found
    if theirs in ("RuntimeError", "NotImplementedError"):
        return  # a kernel PyTorch lacks is no rule
    assert ours == theirs


def network(module):
    random = np.random.default_rng(3)
    model = module.nn.Sequential(module.nn.Linear(6, 8), module.nn.ReLU(), module.nn.Linear(8, 3))
    with module.no_grad():
        for param in model.parameters():
            param.copy_(module.tensor(random.normal(scale=0.5, size=tuple(param.shape)).tolist()))
    return model


def test_a_network_trains_with_pytorchs_losses(both):
    losses = []
    for module in both:
        model = network(module)
        optimizer = module.optim.SGD(model.parameters(), lr=0.05)
        x, target = values(module, 16, 6, seed=1), module.tensor([i % 3 for i in range(16)])
        seen = []
        for _ in range(5):
            optimizer.zero_grad()
            with module.autocast("cpu", dtype=module.bfloat16):
                output = model(x)
                assert name_of(output.dtype) == "bfloat16"
                loss = module.nn.functional.cross_entropy(output, target)
            assert name_of(loss.dtype) == "float32"
            loss.backward()
            assert all(name_of(param.grad.dtype) == "float32" for param in model.parameters())
            optimizer.step()
            seen.append(loss.item())
        losses.append(seen)
    np.testing.assert_allclose(losses[1], losses[0], rtol=2e-2)


def scaler_story(module, gradients, **options):
    """What a scaler does with gradients, some of them infinite."""
    scaler = module.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2, **options)
    param = module.ones(3, requires_grad=True)
    optimizer = module.optim.SGD([param], lr=0.5)
    seen = []
    for gradient in gradients:
        optimizer.zero_grad()
        scaler.scale((param * module.tensor(gradient)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append((scaler.get_scale(), scaler._get_growth_tracker(), param.tolist()))
    return seen, scaler.state_dict()


@pytest.mark.parametrize(
    "gradients",
    [
        [[1.0, 2.0, 3.0]] * 5,
        [
            [1.0, 2.0, 3.0],
            [float("inf"), 0.0, 1.0],
            [1.0, 1.0, 1.0],
            [1.0, 1.0, 1.0],
            [float("nan"), 0.0, 0.0],
        ],
        [[3e38, 1.0, 1.0]] * 3,
    ],
)
@pytest.mark.parametrize("options", [{}, {"growth_factor": 4.0, "backoff_factor": 0.25}])
def test_scales_follow_pytorchs(both, gradients, options):
    theirs, ours = (scaler_story(module, gradients, **options) for module in both)
    assert ours == theirs


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD", "Adagrad"])
def test_fused_optimizers_take_the_scale_themselves(both, name):
    seen = []
    for module in both:
        scaler = module.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
        param = module.ones(3, requires_grad=True)
        options = {"momentum": 0.9} if name == "SGD" else {}
        optimizer = getattr(module.optim, name)([param], lr=0.1, fused=True, **options)
        history = []
        for gradient in ([1.0, -2.0, 0.5], [float("inf"), 0.0, 1.0], [0.3, 0.2, 0.1]):
            optimizer.zero_grad()
            scaler.scale((param * module.tensor(gradient)).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            history.append((scaler.get_scale(), param.tolist()))
        state = optimizer.state_dict()["state"][0]
        seen.append((history, {key: value.tolist() for key, value in state.items()}))
    (theirs, their_state), (ours, our_state) = seen
    assert [scale for scale, _ in ours] == [scale for scale, _ in theirs]
    for (_, mine), (_, their) in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, their, rtol=1e-6)
    assert list(our_state) == list(their_state)
    for key, value in their_state.items():
        np.testing.assert_allclose(our_state[key], value, rtol=1e-6)


def misuse(module, story):
    scaler = module.amp.GradScaler("cpu")
    param = module.ones(2, requires_grad=True)
    optimizer = module.optim.SGD([param], lr=1.0)
    try:
        story(module, scaler, param, optimizer)
    except (RuntimeError, AssertionError, ValueError) as error:
        return type(error), str(error)
    return None


def start(module, scaler, param):
    scaler.scale((param * 2).sum()).backward()


STORIES = {
    "step before scale": lambda m, s, p, o: s.step(o),
    "update before scale": lambda m, s, p, o: s.update(),
    "unscale before scale": lambda m, s, p, o: s.unscale_(o),
    "no gradients": lambda m, s, p, o: (s.scale(m.ones(1)), s.step(o)),
    "unscale twice": lambda m, s, p, o: (start(m, s, p), s.unscale_(o), s.unscale_(o)),
    "step twice": lambda m, s, p, o: (start(m, s, p), s.step(o), s.step(o)),
    "unscale after step": lambda m, s, p, o: (start(m, s, p), s.step(o), s.unscale_(o)),
    "update without step": lambda m, s, p, o: (start(m, s, p), s.update()),
    "closure": lambda m, s, p, o: (start(m, s, p), s.step(o, closure=lambda: None)),
    "empty state": lambda m, s, p, o: s.load_state_dict({}),
    "growth": lambda m, s, p, o: m.amp.GradScaler("cpu", growth_factor=0.5),
    "backoff": lambda m, s, p, o: m.amp.GradScaler("cpu", backoff_factor=2.0),
    "half gradients": lambda m, s, p, o: (
        s.scale(m.ones(1)),
        s.unscale_(half_optimizer(m)),
    ),
}


def half_optimizer(module):
    param = module.ones(2, dtype=module.float16, requires_grad=True)
    param.grad = module.ones(2, dtype=module.float16)
    return module.optim.SGD([param], lr=1.0)


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_misuse_of_a_scaler_is_refused_with_pytorchs_words(both, story):
    theirs, ours = (misuse(module, story) for module in both)
    assert ours == theirs and ours is not None


def test_the_hosts_lists_are_pytorchs(both):
    """PyTorch's dispatcher knows which operators autocast touches; ours are in codegen/autocast.yaml."""
    native = both[0]._C
    theirs = {
        name.removeprefix("aten::").partition(".")[0]
        for name in native._dispatch_get_all_op_names()
        if name.startswith("aten::") and native._dispatch_has_kernel_for_dispatch_key(name, "AutocastCPU")
    }
    rows = {row.cpp_name for row in load_table()}
    packages = {row.cpp_name for row in load_table() if row.module in PACKAGES}  # tests/packages
    ours = {name.partition(".")[0] for name, policy in autocast.lists()["cpu"].items() if policy != "alone"}
    parts = {"_cdist_forward"}  # what functions written in Python call
    networks = {
        "lstm",
        "gru",
        "rnn_tanh",
        "rnn_relu",
    }  # PyTorch composes them of operators that are on its list
    networks |= {f"{name}_cell" for name in networks}
    assert ours - parts - networks - packages == theirs & rows


def test_the_ctc_loss_of_lower_precision_is_taken_in_float32(both):
    def loss(m):
        scores = values(m, 5, 1, 4).log_softmax(-1).to(m.bfloat16)
        with m.autocast("cpu"):
            return m.nn.functional.ctc_loss(scores, m.tensor([[1, 2]]), m.tensor([5]), m.tensor([2]))

    theirs, ours = (loss(m) for m in both)
    assert name_of(ours.dtype) == name_of(theirs.dtype)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5)


def test_each_device_has_its_older_names(both):
    for m in both:
        amp = importlib.import_module(m.__name__ + ".cpu.amp")
        assert m.cpu.amp is amp
        with pytest.warns(FutureWarning, match=r"torch\.cpu\.amp\.autocast\(args"), amp.autocast():
            assert m.is_autocast_enabled("cpu")
        with pytest.warns(FutureWarning, match=r"torch\.cpu\.amp\.GradScaler\(args"):
            amp.GradScaler()
    ours = both[1]
    assert importlib.import_module(ours.__name__ + ".npu.amp") is ours.npu.amp
