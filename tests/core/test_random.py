"""Random tensors: errors, generators, and dropout. Equality with PyTorch's values is in tests/parity."""

import pickle

import numpy as np
import pytest

import mindtorch_v2 as torch


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(7)


_BAD = [
    (lambda: torch.ones(2).exponential_(0), "exponential_ expects lambda > 0.0, but found lambda=0"),
    (lambda: torch.ones(2).cauchy_(0, -1), "cauchy_ expects sigma > 0.0"),
    (lambda: torch.ones(2).log_normal_(0, -1), "log_normal_ expects std > 0.0"),
    (lambda: torch.ones(2).geometric_(0), r"geometric_ expects p to be in \(0, 1\)"),
    (lambda: torch.ones(2, dtype=torch.int64).cauchy_(), "Cauchy distribution is a continuous"),
    (lambda: torch.multinomial(torch.ones(2, 2, 2), 1), "prob_dist must be 1 or 2 dim"),
    (lambda: torch.multinomial(torch.ones(3), 0), "cannot sample n_sample <= 0 samples"),
    (lambda: torch.multinomial(torch.ones(3), 4), "without replacement"),
    (lambda: torch.multinomial(torch.zeros(3), 1), r"sum of probabilities <= 0"),
    (lambda: torch.multinomial(-torch.ones(3), 1), "contains either `inf`, `nan` or element < 0"),
    (lambda: torch.multinomial(-torch.ones(3), 2, True), "probability entry < 0"),
    (lambda: torch.multinomial(torch.ones(2, 0), 1, True), "no categories"),
    (lambda: torch.poisson(torch.tensor([-1.0])), "expected rate to be non-negative"),
    (lambda: torch.binomial(torch.ones(2), torch.ones(3)), "must match"),
    (lambda: torch.normal(torch.ones(2), -torch.ones(2)), "normal expects all elements of std >= 0.0"),
    (lambda: torch.ones(2).bernoulli_(torch.ones(3)), "must match the existing size"),
    (lambda: torch.bernoulli(torch.tensor([2.0])), "p_in"),
    (lambda: torch.ones(2, dtype=torch.uint8).random_(300), "to - 1 is out of bounds for unsigned char"),
    (lambda: torch.feature_dropout(torch.ones(2), 0.5, True), "requires at least 2 dimensions"),
    (lambda: torch.dropout(torch.ones(2), 1.5, True), "dropout probability has to be between 0 and 1"),
]


@pytest.mark.parametrize(("draw", "message"), _BAD)
def test_bad_parameters_are_refused(draw, message):
    with pytest.raises(RuntimeError, match=message):
        draw()


def test_samples_without_replacement_are_distinct_and_possible():
    weights = torch.tensor([[1.0, 0.0, 2.0, 3.0]] * 50)
    drawn = torch.multinomial(weights, 3).numpy()
    assert all(sorted(row) == [0, 2, 3] for row in drawn)


def test_samples_follow_their_weights():
    drawn = torch.multinomial(torch.tensor([1.0, 3.0]), 20000, replacement=True)
    assert drawn.dtype is torch.int64 and abs(drawn.numpy().mean() - 0.75) < 0.02


@pytest.mark.parametrize("rate", [0.5, 5.0, 30.0, 1000.0])
def test_poisson_has_its_mean_and_variance(rate):
    drawn = torch.poisson(torch.full((20000,), rate, dtype=torch.float64)).numpy()
    assert abs(drawn.mean() / rate - 1) < 0.05 and abs(drawn.var() / rate - 1) < 0.06


@pytest.mark.parametrize(("count", "p"), [(5, 0.3), (100, 0.4), (100, 0.9), (7, 0.0), (7, 1.0)])
def test_binomial_has_its_mean_and_range(count, p):
    drawn = torch.binomial(torch.full((20000,), float(count)), torch.tensor([p])).numpy()
    assert (
        drawn.min() >= 0 and drawn.max() <= count and abs(drawn.mean() - count * p) < 0.05 * (count * p + 0.1)
    )


def test_a_clone_of_a_generator_goes_on_alike_but_by_itself():
    ours = torch.Generator().manual_seed(3)
    torch.rand(5, generator=ours)
    clone = ours.clone_state()
    assert torch.rand(4, generator=clone).tolist() == torch.rand(4, generator=ours).tolist()


def test_forked_numbers_leave_no_trace():
    with torch.random.fork_rng():
        first = torch.rand(3).tolist()
    assert torch.rand(3).tolist() == first


def test_dropout_keeps_the_mean_and_its_mask_in_the_gradient():
    x = torch.ones(10000, requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    assert np.array_equal(y.detach().numpy(), x.grad.numpy()) and abs(y.mean().item() - 1) < 0.03


def test_feature_dropout_takes_whole_channels():
    y = torch.nn.functional.dropout2d(torch.ones(8, 16, 3, 3)).numpy()
    assert np.array_equal(y, np.broadcast_to(y[:, :, :1, :1], y.shape)) and set(np.unique(y)) == {0.0, 2.0}


def test_dropout_in_place_writes_its_input():
    x = torch.ones(4, 5)
    for drop in (
        torch.nn.functional.dropout,
        torch.nn.functional.dropout1d,
        torch.nn.functional.alpha_dropout,
    ):
        assert drop(x, 0.5, training=True, inplace=True) is x
    assert torch.nn.functional.dropout(x, 0.5, training=False) is x


def test_random_numbers_have_a_gradient_of_zeros():
    p = torch.full((3,), 0.5, requires_grad=True)
    torch.bernoulli(p).sum().backward()
    assert p.grad.tolist() == [0, 0, 0]


def test_draws_work_on_meta_and_with_out():
    assert torch.bernoulli(torch.ones(3, device="meta")).shape == (3,)
    assert torch.multinomial(torch.ones(2, 3, device="meta"), 2).shape == (2, 2)
    out = torch.empty(0)
    assert torch.normal(0.0, 1.0, (3,), out=out) is out and out.shape == (3,)


def test_complex_tensors_are_filled_in_both_parts():
    z = torch.randn(2000, dtype=torch.complex64).numpy()
    assert abs(z.real.var() - 0.5) < 0.06 and abs(z.imag.var() - 0.5) < 0.06


def test_a_generator_is_pickled_with_its_state():
    ours = torch.Generator().manual_seed(5)
    torch.rand(3, generator=ours)
    copy = pickle.loads(pickle.dumps(ours))
    assert torch.rand(3, generator=copy).tolist() == torch.rand(3, generator=ours).tolist()


def test_seeds_have_64_bits():
    assert torch.Generator().manual_seed(-1).initial_seed() == 2**64 - 1
    for seed in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            torch.Generator().manual_seed(seed)
    with pytest.raises(RuntimeError, match="manual_seed expected a long, but got float"):
        torch.Generator().manual_seed(1.5)


def test_numbers_without_an_upper_end_stay_in_the_dtype():
    for dtype, end in (
        (torch.uint8, 2**8),
        (torch.int16, 2**15),
        (torch.float32, 2**24 + 1),
        (torch.bool, 2),
    ):
        drawn = torch.empty(2000, dtype=dtype).random_(0, None).to(torch.float64).numpy()
        assert drawn.min() >= 0 and end * 0.5 <= drawn.max() < end


def test_gradients_flow_through_draws_of_a_normal_distribution_and_are_zero():
    mean, std = torch.ones(3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    drawn = torch.normal(mean, std) + torch.normal(mean, 0.5) + torch.normal(0.0, std)
    assert drawn.shape == (2, 3) and drawn.requires_grad
    drawn.sum().backward()
    assert mean.grad.tolist() == [0, 0, 0] and std.grad.tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("end", [1, 2, 3, 10, 255, 1 << 16, 1000003, (1 << 28) - 1])
def test_whole_numbers_are_remainders_of_the_generators_own(end):
    words = np.random.RandomState(7)._bit_generator.random_raw(2000)
    wanted = (words % end - 5).astype("int64").tolist()
    assert torch.randint(-5, end - 5, (1999,)).tolist() == wanted[:1999]
    assert torch.randint(-5, end - 5, (1,)).tolist() == wanted[1999:]
    torch.manual_seed(7)
    assert torch.empty(2000, 2).long()[:, 0].random_(-5, end - 5).tolist() == wanted
