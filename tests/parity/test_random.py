"""The same seed gives PyTorch's values on the CPU, and the generator's state can be exchanged with it."""

import numpy as np
import pytest
import torch

import mindtorch_v2

# 15 and 16 lie on either side of PyTorch's vectorised path for normal numbers; 5000 crosses several refills.
_SIZES = [(), (1,), (3,), (15,), (16,), (17,), (4, 5), (625,), (1000,), (5000,), (0,)]


def agree(both, draw):
    theirs, ours = (draw(lib) for lib in both)
    assert str(ours.dtype) == str(theirs.dtype)
    a, b = (t.float() if "bfloat16" in str(t.dtype) else t for t in (ours, theirs))
    np.testing.assert_array_equal(a.numpy(), b.numpy())


_DRAWS = {
    "rand": lambda lib, s: lib.rand(s),
    "rand double": lambda lib, s: lib.rand(s, dtype=lib.float64),
    "rand half": lambda lib, s: lib.rand(s, dtype=lib.float16),
    "rand bfloat16": lambda lib, s: lib.rand(s, dtype=lib.bfloat16),
    "randint": lambda lib, s: lib.randint(10, s),
    "randint low high": lambda lib, s: lib.randint(-5, 1000, s),
    "randint above 32 bits": lambda lib, s: lib.randint(2**40, s),
    "randint float": lambda lib, s: lib.randint(0, 7, s, dtype=lib.float32),
    "randint uint8": lambda lib, s: lib.randint(0, 255, s, dtype=lib.uint8),
    "uniform_": lambda lib, s: lib.empty(s).uniform_(-2, 5),
    "uniform_ double": lambda lib, s: lib.empty(s, dtype=lib.float64).uniform_(-2, 5),
    "bernoulli_": lambda lib, s: lib.empty(s).bernoulli_(0.3),
    "bernoulli_ double": lambda lib, s: lib.empty(s, dtype=lib.float64).bernoulli_(0.7),
    "bernoulli_ int": lambda lib, s: lib.empty(s, dtype=lib.int64).bernoulli_(0.5),
    "random_": lambda lib, s: lib.empty(s, dtype=lib.int32).random_(3, 90),
    "rand_like": lambda lib, s: lib.rand_like(lib.empty(s)),
    "transposed": lambda lib, s: lib.empty((4, 5)).t().uniform_(),
    "random_ full": lambda lib, s: lib.empty(s, dtype=lib.int16).random_(),
    "random_ without an end": lambda lib, s: lib.empty(s).random_(5, None),
    "bernoulli of a tensor": lambda lib, s: lib.bernoulli(lib.full(s, 0.3)),
    "bernoulli_ by a tensor": lambda lib, s: lib.empty(s, dtype=lib.int32).bernoulli_(lib.full(s, 0.3)),
    "geometric_": lambda lib, s: lib.empty(s).geometric_(0.2),
    "poisson of few": lambda lib, s: lib.poisson(lib.full(s, 3.0)),
    "poisson of many": lambda lib, s: lib.poisson(lib.full(s, 40.0)),
    "binomial": lambda lib, s: lib.binomial(lib.full(s, 50.0), lib.full(s, 0.4)),
    "multinomial": lambda lib, s: lib.multinomial(lib.arange(1.0, 40.0), 20),
    "multinomial with replacement": lambda lib, s: lib.multinomial(lib.arange(1.0, 40.0), 200, True),
    "randint_like": lambda lib, s: lib.randint_like(lib.empty(s), 3, 90),
    "dropout": lambda lib, s: lib.nn.functional.dropout(lib.ones(s), 0.3),
    "dropout2d": lambda lib, s: lib.nn.functional.dropout2d(lib.ones(7, 5, 2, 2), 0.3),
}


@pytest.mark.parametrize("shape", _SIZES, ids=str)
@pytest.mark.parametrize("name", list(_DRAWS))
def test_the_values_are_pytorchs(both, name, shape):
    agree(both, lambda lib: _DRAWS[name](lib, shape))


# Cosine and logarithm are rounded differently in the last place, so these are close instead of equal.
_NORMAL = {
    "randn": lambda lib, s: lib.randn(s),
    "randn double": lambda lib, s: lib.randn(s, dtype=lib.float64),
    "normal_": lambda lib, s: lib.empty(s).normal_(2, 3),
    "randn_like": lambda lib, s: lib.randn_like(lib.empty(s)),
    "randn half": lambda lib, s: lib.randn(s, dtype=lib.float16),
    "transposed": lambda lib, s: lib.empty((4, 5)).t().normal_(),
    "strided": lambda lib, s: lib.empty((40, 2))[:, 0].normal_(),
    "normal of tensors": lambda lib, s: lib.normal(lib.ones(s), lib.full(s, 2.0)),
    "exponential_": lambda lib, s: lib.empty(s).exponential_(2.0),
    "cauchy_": lambda lib, s: lib.empty(s).cauchy_(1.0, 2.0),
    "log_normal_": lambda lib, s: lib.empty(s).log_normal_(0.1, 0.5),
    "alpha_dropout": lambda lib, s: lib.nn.functional.alpha_dropout(lib.ones(s), 0.3, True),
}


@pytest.mark.parametrize("shape", _SIZES, ids=str)
@pytest.mark.parametrize("name", list(_NORMAL))
def test_the_normal_values_are_pytorchs(both, name, shape):
    theirs, ours = (_NORMAL[name](lib, shape).float() for lib in both)
    tolerance = 1e-3 if "half" in name else 2e-6
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=tolerance, atol=tolerance)


def _every_other(lib, s, dtype):
    """A tensor whose elements lie apart, in two dimensions and out of order."""
    n = max(1, int(np.prod(s)))
    return lib.zeros((n, 4), dtype=dtype).t()[::2]


_WRITES = {
    "uniform_": lambda x: x.uniform_(-1, 3),
    "normal_": lambda x: x.normal_(1, 2),
    "bernoulli_": lambda x: x.bernoulli_(0.4),
    "exponential_": lambda x: x.exponential_(1.5),
    "random_": lambda x: x.random_(0, 50),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (15,), (16,), (17,), (1000,)], ids=str)
@pytest.mark.parametrize("name", list(_WRITES))
def test_strided_tensors_are_filled_in_pytorchs_order(both, name, shape, dtype):
    theirs, ours = (_WRITES[name](_every_other(lib, shape, getattr(lib, dtype))) for lib in both)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-6, atol=2e-6)


_LAYOUTS = {
    "transposed": lambda lib: lib.ones(6, 8).t(),
    "permuted": lambda lib: lib.ones(2, 3, 8).permute(2, 0, 1),
    "channels last": lambda lib: lib.ones(2, 3, 4, 4).to(memory_format=lib.channels_last),
    "every other of the transposed": lambda lib: lib.ones(8, 16).t()[::2],
}
_NOISES = {
    "dropout": lambda lib, x: lib.dropout(x, 0.3, True),
    "alpha_dropout": lambda lib, x: lib.alpha_dropout(x, 0.3, True),
    "native_dropout": lambda lib, x: lib.native_dropout(x, 0.3, True)[0],
    "bernoulli_ of a tensor": lambda lib, x: x.bernoulli_(lib.full(tuple(x.shape), 0.5)),
    "normal": lambda lib, x: lib.normal(x, 1.0).sign(),
    "normal of two": lambda lib, x: lib.normal(x, x).sign(),
}


@pytest.mark.parametrize("layout", list(_LAYOUTS))
@pytest.mark.parametrize("name", list(_NOISES))
def test_noise_of_strided_tensors_is_drawn_in_pytorchs_order(both, name, layout):
    agree(both, lambda lib: _NOISES[name](lib, _LAYOUTS[layout](lib)))


_INITS = {
    "uniform_": lambda init, x: init.uniform_(x, -1, 2),
    "normal_": lambda init, x: init.normal_(x, 1, 2),
    "xavier_uniform_": lambda init, x: init.xavier_uniform_(x, 2.0),
    "xavier_normal_": lambda init, x: init.xavier_normal_(x),
    "kaiming_uniform_": lambda init, x: init.kaiming_uniform_(x, a=0.5),
    "kaiming_normal_": lambda init, x: init.kaiming_normal_(x, mode="fan_out", nonlinearity="relu"),
}


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (4, 4), (17, 1), (20, 50)], ids=str)
@pytest.mark.parametrize("name", list(_INITS))
def test_initial_weights_are_pytorchs(both, name, shape):
    theirs, ours = (_INITS[name](lib.nn.init, lib.zeros(shape)) for lib in both)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("layer", ["Conv2d", "ConvTranspose1d"])
def test_layers_start_from_pytorchs_parameters(both, layer):
    theirs, ours = (getattr(lib.nn, layer)(3, 4, 3) for lib in both)
    wanted = dict(theirs.named_parameters())
    for name, value in ours.named_parameters():
        np.testing.assert_allclose(
            value.detach().numpy(), wanted[name].detach().numpy(), rtol=2e-6, atol=2e-6
        )


def test_a_fork_leaves_the_generator_as_it_was(both):
    for lib in both:
        lib.rand(3)
        with lib.random.fork_rng():
            lib.manual_seed(99)
            lib.rand(100)
    agree(both, lambda lib: lib.rand(17))


@pytest.mark.parametrize(
    "rows, columns, drawn, again", [(1, 5, 1, False), (3, 17, 9, False), (2, 16, 1000, True)]
)
def test_multinomial_rows_are_pytorchs(both, rows, columns, drawn, again):
    weights = np.random.default_rng(0).uniform(0.1, 1, (rows, columns)).astype("float32")
    agree(both, lambda lib: lib.multinomial(lib.from_numpy(weights.copy()), drawn, again))


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int64", "bool"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (1,), ()])
@pytest.mark.parametrize("apart", [False, True])
def test_tensors_made_for_tests_are_pytorchs(both, dtype, shape, apart):
    agree(
        both,
        lambda lib: lib.testing.make_tensor(
            shape, dtype=getattr(lib, dtype), device="cpu", noncontiguous=apart
        ),
    )


# Numbers are drawn in the order in which the weights lie.
@pytest.mark.parametrize(
    "laid",
    [
        lambda w: w.t(),
        lambda w: w.t()[:, 1:],
        lambda w: w[::2],
        lambda w: w[:, ::2],
        lambda w: w[:1].expand(4, 6),
        lambda w: w[:, :1].expand(5, 4),
        lambda w: w[:, :1].t().expand(3, 5),
    ],
)
@pytest.mark.parametrize("drawn, again", [(2, False), (1, False), (4, True)])
def test_multinomial_of_weights_that_lie_otherwise_are_pytorchs(both, laid, drawn, again):
    weights = np.random.default_rng(0).uniform(0.1, 1, (5, 6)).astype("float32")
    agree(both, lambda lib: lib.multinomial(laid(lib.from_numpy(weights.copy())), drawn, again))


@pytest.mark.parametrize("n", [0, 1, 2, 10, 15, 16, 17, 1000, 30000])
def test_permutations_are_pytorchs(both, n):
    agree(both, lambda lib: lib.randperm(n))


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31, 2**63, 2**64 - 1, -1])
def test_every_seed_is_taken_alike(seed):
    torch.manual_seed(seed)
    mindtorch_v2.manual_seed(seed)
    agree((torch, mindtorch_v2), lambda lib: lib.rand(5))
    assert mindtorch_v2.initial_seed() == torch.initial_seed()


def test_draws_of_all_kinds_in_a_row_keep_in_step(both):
    for _ in range(3):
        for name in ("rand", "randint", "bernoulli_", "uniform_ double"):
            agree(both, lambda lib, name=name: _DRAWS[name](lib, (7,)))
        # Odd counts of normal numbers leave one behind in the generator for the next call.
        for shape in ((1,), (3,), (), (16,), (5,)):
            theirs, ours = (lib.randn(shape) for lib in both)
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-6, atol=2e-6)
        agree(both, lambda lib: lib.randperm(11))


@pytest.mark.parametrize("sizes", [(3, 4), (100, 50)])
def test_linear_starts_from_pytorchs_parameters(both, sizes):
    theirs, ours = (lib.nn.Linear(*sizes) for lib in both)
    assert ours.weight.tolist() == theirs.weight.tolist()
    assert ours.bias.tolist() == theirs.bias.tolist()


def test_states_can_be_exchanged(both):
    for lib in both:
        lib.rand(3), lib.randn(1)
    theirs, ours = (lib.get_rng_state() for lib in both)
    assert ours.numel() == theirs.numel()
    wanted = torch.cat([torch.rand(5), torch.randn(5)])
    mindtorch_v2.rand(100)
    mindtorch_v2.set_rng_state(mindtorch_v2.from_numpy(theirs.numpy().copy()))
    got = mindtorch_v2.cat([mindtorch_v2.rand(5), mindtorch_v2.randn(5)])
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=2e-6)
    torch.rand(100)
    torch.set_rng_state(torch.from_numpy(ours.numpy().copy()))
    np.testing.assert_allclose(torch.cat([torch.rand(5), torch.randn(5)]).numpy(), wanted.numpy(), rtol=2e-6)


def test_a_state_puts_the_generator_back(both):
    _, ours = both
    state = ours.get_rng_state()
    first = ours.rand(4).tolist()
    ours.set_rng_state(state)
    assert ours.rand(4).tolist() == first


def test_a_bad_state_is_refused(both):
    for lib in both:
        with pytest.raises((RuntimeError, TypeError)):
            lib.set_rng_state(lib.zeros(10, dtype=lib.uint8))
        with pytest.raises((RuntimeError, TypeError)):
            lib.set_rng_state(lib.zeros(5056))
    agree(both, lambda lib: lib.rand(3))


def test_a_generator_of_ones_own(both):
    agree(both, lambda lib: lib.rand(5, generator=lib.Generator().manual_seed(7)))
    agree(both, lambda lib: lib.randperm(9, generator=lib.Generator().manual_seed(7)))
    agree(both, lambda lib: lib.empty(5).uniform_(generator=lib.Generator().manual_seed(7)))
    agree(both, lambda lib: lib.randint(0, 9, (5,), generator=lib.Generator().manual_seed(7)))
    agree(both, lambda lib: lib.rand(3))  # the default one was not touched


def test_the_npus_numbers_have_the_right_distribution():
    mindtorch_v2.npu.manual_seed(3)
    uniform = mindtorch_v2.rand(20000, device="npu").cpu().numpy()
    normal = mindtorch_v2.randn(20000, device="npu").cpu().numpy()
    coins = mindtorch_v2.empty(20000, device="npu").bernoulli_(0.3).cpu().numpy()
    assert 0 <= uniform.min() and uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.01 and abs(uniform.var() - 1 / 12) < 0.003
    assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1) < 0.03
    assert set(np.unique(coins)) == {0.0, 1.0} and abs(coins.mean() - 0.3) < 0.02
    mindtorch_v2.npu.manual_seed(3)
    assert np.array_equal(mindtorch_v2.rand(20000, device="npu").cpu().numpy(), uniform)


@pytest.mark.parametrize(
    "draw",
    [
        lambda lib: lib.empty(2).uniform_(2, 1),
        lambda lib: lib.empty(2).normal_(0, -1),
        lambda lib: lib.empty(2).bernoulli_(1.5),
        lambda lib: lib.randint(5, 5, (2,)),
        lambda lib: lib.randint(0, (2,)),
        lambda lib: lib.randperm(-1),
        lambda lib: lib.rand(2, dtype=lib.int32),
        lambda lib: lib.empty(2, dtype=lib.int64).uniform_(),
        lambda lib: lib.empty(2, dtype=lib.uint8).random_(0, 1000),
    ],
)
def test_bad_parameters_are_refused_alike(draw):
    with pytest.raises(Exception) as wanted:
        draw(torch)
    with pytest.raises(type(wanted.value)):
        draw(mindtorch_v2)


def test_gumbel_softmax_draws_pytorchs_sample(both):
    def sample(lib):
        lib.manual_seed(4)
        soft = lib.nn.functional.gumbel_softmax(lib.zeros(3, 5), tau=0.7)
        return soft, lib.nn.functional.gumbel_softmax(lib.zeros(3, 5), hard=True), lib.rand(2)

    for theirs, ours in zip(*(sample(lib) for lib in both), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)
