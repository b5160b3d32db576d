"""vmap on batches: results are those of a loop over slices, whatever is around it or inside it."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import library
from mindtorch_v2._C import _functorch
from mindtorch_v2.func import grad, hessian, jacrev, vmap
from mindtorch_v2.nn import functional as F

DEVICES = ("cpu", "npu")


def numbers(*sizes, device="cpu"):
    torch.manual_seed(0)
    return torch.randn(*sizes).to(device)


def loop(function, *batches):
    return torch.stack([function(*slices) for slices in zip(*batches, strict=True)])


@pytest.fixture
def in_one_call():
    _functorch._set_vmap_fallback_enabled(False)
    yield
    _functorch._set_vmap_fallback_enabled(True)


FUNCTIONS = {
    "arithmetic": lambda a: a * 2 + a[0] - a.sum(-1, keepdim=True),
    "numbers beside matrices": lambda a: a * a[0, 0] + a.mean(),
    "reductions": lambda a: torch.cat([a.amax(1), a.std(0), a.prod().reshape(1), a.var().reshape(1)]),
    "positions": lambda a: a.argmax(keepdim=True) + a.argmin(0),
    "sorting": lambda a: a.sort(0)[0] + a.topk(2, 1)[0].sum() + a.median() + a.kthvalue(1, 0)[0],
    "views": lambda a: a.t().reshape(-1)[1:7].view(2, 3).unsqueeze(0).expand(2, 2, 3).diagonal(0, 1, 2),
    "windows": lambda a: a.unfold(1, 2, 1).as_strided((2, 2), (1, 1)),
    "joining": lambda a: torch.cat([a, a.flip(0)], 1).split(2, -1)[1],
    "products": lambda a: a @ a.t() @ a + torch.einsum("ij,ij->i", a, a).unsqueeze(1),
    "indices": lambda a: a[[0, 2]][:, [1, 0]] + a.gather(1, a.argsort(1))[:2, :2],
    "indices of slices": lambda a: a.index_select(1, a[0].argsort()[:2])[a[:, 0].argmax()]
    + a[a.argmax(0)[:2], 1],
    "apart indices": lambda a: a.unsqueeze(1).expand(3, 2, 4)[[0, 1], :, [2, 3]],
    "softmax": lambda a: a.softmax(-1) + a.log_softmax(0) + a.cumsum(0),
    "norms": lambda a: F.layer_norm(a, (4,)) + F.group_norm(a.unsqueeze(0), 3).squeeze(0) + a.norm(),
    "convolution": lambda a: F.conv1d(a.unsqueeze(0), a.unsqueeze(0)[..., :2]).sum() + F.max_pool1d(a, 2),
    "solving": lambda a: torch.linalg.solve(a @ a.t() + torch.eye(3, device=a.device), a),
    "losses": lambda a: F.cross_entropy(a, torch.tensor([0, 1, 2], device=a.device)) + F.mse_loss(a, a * 2),
    "tables": lambda a: F.embedding(torch.tensor([2, 0], device=a.device), a),
    "factories": lambda a: torch.zeros_like(a) + a.new_ones(4) + torch.arange(4, device=a.device),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_slices_at_once_give_what_one_after_the_other_gives(name, device, in_one_call):
    function, batch = FUNCTIONS[name], numbers(5, 3, 4, device=device)
    assert torch.allclose(vmap(function)(batch), loop(function, batch), atol=1e-5)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("positions", "factories")])
def test_gradients_inside_and_outside_are_those_of_the_loop(name):
    function, batch = FUNCTIONS[name], numbers(5, 3, 4).double()
    inside = grad(lambda a: function(a).sin().sum())
    assert torch.allclose(vmap(inside)(batch), loop(inside, batch))
    ours, wanted = batch.clone().requires_grad_(), batch.clone().requires_grad_()
    vmap(function)(ours).sin().sum().backward()
    loop(function, wanted).sin().sum().backward()
    assert torch.allclose(ours.grad, wanted.grad)


def test_a_gradient_inside_is_differentiated_outside():
    x = numbers(4, 3).requires_grad_()
    vmap(grad(lambda v: (v**3).exp().sum()))(x).sum().backward()
    wanted = (
        torch.autograd.functional.hessian(lambda v: (v**3).exp().sum(), x.detach()).reshape(12, 12).sum(0)
    )
    assert torch.allclose(x.grad.reshape(-1), wanted, rtol=1e-4)


def test_weights_that_all_slices_share_record_nothing_outside():
    weight, x = numbers(2, 3), numbers(5, 3)
    found = vmap(grad(lambda w, v: (w @ v).sin().sum()), (None, 0))(weight, x)
    assert found.shape == (5, 2, 3) and not found.requires_grad


@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0), (1, 0), (-1, None)])
def test_every_operand_may_be_the_batch(in_dims, in_one_call):
    a, b = (numbers(*([4] * (2 if d is None else 3))) + k for k, d in enumerate(in_dims))
    for function in (
        torch.matmul, torch.add, lambda x, y: F.linear(x, y), lambda x, y: torch.addmm(x, x, y),
        lambda x, y: x[y.argmax(1)], lambda x, y: torch.where(x > 0, x, y), lambda x, y: F.embedding(x.argmax(1), y),
        lambda x, y: x.index_add(0, y.argmax(1), y), lambda x, y: F.layer_norm(x, (4,), y[0], y[1]),
        lambda x, y: torch.searchsorted(x.sort(1)[0], y), lambda x, y: x.scatter(1, y.argsort(1), x),
    ):  # fmt: skip
        wanted = torch.stack([
            function(*(t if d is None else t.select(d, i) for t, d in zip((a, b), in_dims, strict=True)))
            for i in range(4)
        ])  # fmt: skip
        assert torch.allclose(vmap(function, in_dims)(a, b), wanted, atol=1e-5)


def test_a_number_of_each_slice_is_promoted_as_a_number():
    x, numbers_of_slices = torch.ones(3, 4), torch.arange(3, dtype=torch.float64)
    assert vmap(torch.add)(x, numbers_of_slices).dtype == torch.float32
    assert vmap(lambda a: a + torch.tensor(1.0, dtype=torch.float64))(x[:, 0]).dtype == torch.float64
    assert vmap(lambda a, b: a.long() * b)(x, numbers_of_slices).dtype == torch.float64


def test_levels_nest():
    x, y = numbers(2, 3), numbers(4, 3)
    distances = vmap(vmap(lambda a, b: (a - b).norm(), (None, 0)), (0, None))(x, y)
    assert torch.allclose(distances, (x[:, None] - y).norm(dim=-1))
    rows = vmap(lambda a: vmap(lambda i, b: b[i] * a.sum(), (0, None))(torch.arange(3), a))(x)
    assert torch.allclose(rows, x * x.sum(1, keepdim=True))
    f = lambda v: (v.sin() * v.sum()).cumsum(0)  # noqa: E731
    assert torch.allclose(vmap(jacrev(f))(x), loop(jacrev(f), x))
    assert torch.allclose(
        vmap(hessian(lambda v: f(v).sum()))(x), loop(hessian(lambda v: f(v).sum()), x), atol=1e-5
    )


def test_a_graph_from_outside_is_differentiated_for_all_seeds_in_one_pass():
    x = numbers(3).requires_grad_()
    y = x**2
    passes = []
    y.register_hook(lambda g: passes.append(g.shape))
    (rows,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
    assert torch.allclose(rows, torch.diag(2 * x)) and passes == [(3,)]


def test_writes_in_place_reach_the_slices_and_their_gradients():
    def write(a):
        b = a.clone()
        b[1] = b[0] * 2
        b[:, 2:].mul_(3)
        b.t_()
        return b.masked_fill_(b > 1, 0.5)

    x = numbers(3, 4, 4)
    assert torch.allclose(vmap(write)(x), loop(write, x))
    inside = grad(lambda a: (write(a) ** 2).sum())
    assert torch.allclose(vmap(inside)(x), loop(inside, x))
    whole = x.clone()
    vmap(lambda a: a.zero_())(whole)
    assert not whole.any()


def test_a_tensor_that_all_slices_share_is_not_written_by_them():
    with pytest.raises(RuntimeError, match="`other` being vmapped over but `self` not being vmapped over"):
        vmap(lambda a: torch.zeros(3).copy_(a))(numbers(2, 3))
    with pytest.raises(RuntimeError, match="doesn't work on out= or view ops"):
        vmap(lambda a: torch.add(a, a, out=torch.empty(3)))(numbers(2, 3))


def test_an_operator_without_a_rule_runs_slice_by_slice():
    x, before = numbers(3, 4, 2), _functorch._fallback_count()
    with pytest.warns(UserWarning, match="not yet implemented the batching rule for aten::_pdist_forward"):
        assert torch.allclose(vmap(torch.pdist)(x), loop(torch.pdist, x))
    assert _functorch._fallback_count() == before + 1
    _functorch._set_vmap_fallback_enabled(False)
    try:
        with pytest.raises(RuntimeError, match="hit the vmap fallback which is currently disabled"):
            vmap(torch.pdist)(x)
    finally:
        _functorch._set_vmap_fallback_enabled(True)


READINGS = {
    "item": (lambda a: a.sum().item(), r"calling .item\(\) on a Tensor"),
    "float": (lambda a: float(a.sum()), r"calling .item\(\) on a Tensor"),
    "truth": (lambda a: a if a.sum() > 0 else -a, "data-dependent control flow"),
    "list": (lambda a: a.tolist(), "Cannot access data pointer"),
    "numpy": (lambda a: a.numpy(), "Cannot access data pointer"),
    "address": (lambda a: a.data_ptr(), "Cannot access data pointer"),
    "mask": (lambda a: a[a > 0], "indexing with a boolean mask"),
    "nonzero": (lambda a: a.nonzero(), "output dynamic shape"),
}


@pytest.mark.parametrize("name", READINGS)
def test_a_tensor_that_stands_for_many_values_has_none_to_read(name):
    function, message = READINGS[name]
    with pytest.raises(RuntimeError, match=message):
        vmap(function)(numbers(3, 4))


def test_a_value_that_all_slices_share_can_be_read():
    assert vmap(grad(lambda w, a: a.sum() * w * (2 if w.item() > 1 else 3)), (None, 0))(
        torch.tensor(2.0), torch.ones(2, 3)
    ).tolist() == [6, 6]


@pytest.mark.parametrize("device", DEVICES)
def test_random_numbers_are_different_or_the_same_for_slices(device):
    x = numbers(4, 3, device=device)
    drawing = {
        "rand": lambda a: torch.rand(3, device=device),
        "randn_like": torch.randn_like,
        "normal_": lambda a: a.clone().normal_(),
        "dropout": lambda a: F.dropout(torch.ones_like(a)),
        "feature_dropout": lambda a: F.dropout2d(a.new_ones(1, 64, 1, 1)),
        "randperm": lambda a: torch.randperm(64, device=device),
    }
    for name, draw in drawing.items():
        same, different = (vmap(draw, randomness=r)(x) for r in ("same", "different"))
        assert (same == same[:1]).all(), name
        assert name == "dropout" or not (different == different[:1]).all(), name
        with pytest.raises(RuntimeError, match="randomness error mode"):
            vmap(draw)(x)
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched tensor"):
        vmap(lambda a: torch.zeros(3, device=device).normal_(), randomness="different")(x)
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
        vmap(lambda a: torch.bernoulli(a.sigmoid()), randomness="same")(x)
    assert torch.rand(2).shape == (2,)  # outside nothing has changed


def test_chunks_give_the_whole():
    x = numbers(7, 3)
    assert torch.allclose(vmap(torch.sin, chunk_size=3)(x), x.sin())
    assert torch.equal(vmap(lambda a: (a, a.sum()), out_dims=(1, 0), chunk_size=2)(x)[0], x.t())
    drawn = vmap(lambda a: torch.rand(2), randomness="same", chunk_size=2)(x)
    assert (drawn == drawn[:1]).all()


def test_text_shows_what_lies_below():
    shown = []
    vmap(vmap(lambda a: shown.append(repr(a)) or a))(torch.ones(1, 2))
    assert shown == [
        "BatchedTensor(lvl=2, bdim=0, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        tensor([[1., 1.]])\n"
        "    )\n)"
    ]


class Scaled(torch.autograd.Function):
    """Its gradients are not those of its forward, so that one sees whose they are."""

    generate_vmap_rule = True

    @staticmethod
    def forward(a, b):
        return a * b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b * 10, g * a * 100


class ByHand(Scaled):
    generate_vmap_rule = False
    seen: list = []

    @staticmethod
    def vmap(info, in_dims, a, b):
        ByHand.seen.append((tuple(info), in_dims))
        return Scaled.apply(a, b), 0


@pytest.mark.parametrize("function", [Scaled, ByHand])
def test_functions_with_their_own_backward_keep_it(function):
    x, w = numbers(3, 2), torch.full((2,), 2.0)
    mapped = vmap(function.apply, (0, None))
    assert torch.allclose(mapped(x, w), x * w)
    assert torch.allclose(vmap(vmap(function.apply))(x, x), x * x)
    inside = vmap(grad(lambda a, b: function.apply(a, b).sum(), (0, 1)), (0, None))(x, w)
    assert torch.allclose(inside[0], w.expand(3, 2) * 10) and torch.allclose(inside[1], x * 100)
    a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
    mapped(a, b).sum().backward()
    assert torch.allclose(a.grad, w.expand(3, 2) * 10) and torch.allclose(b.grad, x.sum(0) * 100)


def test_functions_that_vmap_knows_nothing_of_are_refused():
    class Bare(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a

    class Silent(Scaled):
        generate_vmap_rule = False

    class Both(ByHand):
        generate_vmap_rule = True

    x = numbers(2, 3)
    for function, message in (
        (Silent, "does not have vmap support"),
        (Both, "has both generate_vmap_rule=True"),
    ):
        with pytest.raises(RuntimeError, match=message):
            vmap(function.apply)(x, x)
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        vmap(Bare.apply)(x)


def test_an_ensemble_and_per_sample_gradients_of_modules():
    models = [
        torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)) for _ in range(3)
    ]
    parameters, buffers = torch.func.stack_module_state(models)
    x = numbers(5, 3)
    call = lambda p, b, v: torch.func.functional_call(models[0], (p, b), v)  # noqa: E731
    assert torch.allclose(
        vmap(call, (0, 0, None))(parameters, buffers, x), torch.stack([m(x) for m in models])
    )
    own = dict(models[0].named_parameters())
    loss = lambda p, v: call(p, {}, v.unsqueeze(0)).pow(2).sum()  # noqa: E731
    found = vmap(grad(loss), (None, 0))(own, x)
    for i in range(5):
        for name, wanted in grad(loss)(own, x[i]).items():
            assert torch.allclose(found[name][i], wanted, atol=1e-6)


def test_names_that_programs_call_do_what_pytorchs_do():
    def inside(a):
        assert _functorch.is_batchedtensor(a) and _functorch.maybe_get_bdim(a) == 0
        assert _functorch.maybe_get_level(a) == _functorch.current_level() == 1
        assert torch._C._are_functorch_transforms_active()
        assert torch.func.debug_unwrap(a).shape == (3, 2)
        return _functorch._add_batch_dim(_functorch._remove_batch_dim(a, 1, 3, 0), 0, 1)

    x = numbers(3, 2)
    assert torch.equal(vmap(inside)(x), x)
    assert not torch._C._are_functorch_transforms_active() and _functorch.maybe_get_level(x) == -1
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        vmap(lambda a: a, out_dims=None)(x)
    with pytest.raises(RuntimeError, match="received invalid argument for remove=all"):
        torch.func.functionalize(torch.sin, remove="all")
    assert torch.equal(torch.func.functionalize(lambda a: a.clone().add_(1))(x), x + 1)


def test_operators_of_programs_run_by_their_rule_or_slice_by_slice():
    @library.custom_op("test_vmap::halved", mutates_args=())
    def halved(a: torch.Tensor) -> torch.Tensor:
        return torch.tensor(a.numpy() / 2)

    halved.register_autograd(lambda ctx, g: g * 3)  # not the real one, so that one sees that it runs
    x = numbers(3, 2)
    for seen in ([], [(0,)]):
        given = x.clone().requires_grad_()
        made = vmap(halved)(given)
        made.sum().backward()
        assert torch.equal(made, x / 2) and (given.grad == 3).all()
        assert (vmap(grad(lambda a: halved(a).sum()))(x) == 3).all()
        assert torch.equal(vmap(vmap(halved))(x), x / 2)
        if seen:
            break
        halved.register_vmap(lambda info, in_dims, a: (halved(a), in_dims[0]))


def test_an_empty_batch_gives_empty_results():
    x = torch.zeros(0, 3, 4)
    for function, shape in (
        (lambda a: F.linear(a, torch.ones(2, 4)), (0, 3, 2)),
        (lambda a: F.linear(a[0], torch.ones(2, 4)), (0, 2)),
        (lambda a: torch.bmm(a.unsqueeze(0), a.t().unsqueeze(0)), (0, 1, 3, 3)),
        (lambda a: a.softmax(0) @ a.t() + a.mean(), (0, 3, 3)),
    ):
        assert vmap(function)(x).shape == shape
