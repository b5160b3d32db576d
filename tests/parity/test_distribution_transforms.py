"""Transforms, constraints and the registries between them are PyTorch's."""

import pickle
from functools import partial

import pytest
import torch as pytorch

import mindtorch_v2

MATRIX = [[0.3, -0.2], [0.5, 1.0]]

# name -> how it is made, values it takes
TRANSFORMS = {
    "abs": (lambda d, t: d.AbsTransform(), MATRIX),
    "affine": (lambda d, t: d.AffineTransform(1.0, 2.0), MATRIX),
    "affine, falling": (
        lambda d, t: d.AffineTransform(t.zeros(2), t.tensor([-2.0, 3.0]), event_dim=1),
        MATRIX,
    ),
    "affine, one scale for an event": (
        lambda d, t: d.AffineTransform(t.zeros(2), t.tensor(-2.0), event_dim=1),
        MATRIX,
    ),
    "exp": (lambda d, t: d.ExpTransform(), MATRIX),
    "exp, remembered": (lambda d, t: d.ExpTransform(cache_size=1), MATRIX),
    "power": (lambda d, t: d.PowerTransform(t.tensor(2.0)), [[0.2, 3.0]]),
    "power, falling": (lambda d, t: d.PowerTransform(t.tensor([-2.0, 0.5])), [[0.2, 3.0]]),
    "sigmoid": (lambda d, t: d.SigmoidTransform(), MATRIX),
    "softplus": (lambda d, t: d.SoftplusTransform(), MATRIX),
    "tanh": (lambda d, t: d.TanhTransform(), MATRIX),
    "softmax": (lambda d, t: d.SoftmaxTransform(), MATRIX),
    "stick": (lambda d, t: d.StickBreakingTransform(), MATRIX),
    "lower": (lambda d, t: d.LowerCholeskyTransform(), MATRIX),
    "positive": (lambda d, t: d.PositiveDefiniteTransform(), MATRIX),
    "correlations": (lambda d, t: d.CorrCholeskyTransform(), [[0.1, -0.4, 0.3], [1.0, 0.2, -0.3]]),
    "reshape": (lambda d, t: d.ReshapeTransform((2, 2), (4,)), MATRIX),
    "independent": (lambda d, t: d.IndependentTransform(d.ExpTransform(), 1), MATRIX),
    "composed": (lambda d, t: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, -2.0)]), MATRIX),
    "composed to vectors": (
        lambda d, t: d.ComposeTransform(
            [
                d.AffineTransform(1.0, 2.0),
                d.StickBreakingTransform(),
                d.AffineTransform(0.0, 3.0),
            ]
        ),
        MATRIX,
    ),
    "composed with a reshape": (
        lambda d, t: d.ComposeTransform(
            [
                d.ExpTransform(),
                d.ReshapeTransform((4,), (2, 2)),
                d.AffineTransform(0.0, 3.0),
            ]
        ),
        [[0.1, 0.2, 0.3, 0.4]] * 2,
    ),
    "side by side": (
        lambda d, t: d.CatTransform([d.ExpTransform(), d.identity_transform], dim=-1, lengths=[1, 2]),
        [[0.1, 0.2, 0.3]],
    ),
    "side by side, first": (lambda d, t: d.CatTransform([d.ExpTransform(), d.TanhTransform()]), MATRIX),
    "stacked": (lambda d, t: d.StackTransform([d.ExpTransform(), d.identity_transform], dim=1), MATRIX),
    "quantiles": (lambda d, t: d.CumulativeDistributionTransform(d.Normal(t.zeros(2), 2.0)), MATRIX),
    "nothing": (lambda d, t: d.identity_transform, MATRIX),
    "the inverse of exp": (lambda d, t: d.ExpTransform().inv, [[0.2, 3.0]]),
    "the inverse of a composition": (
        lambda d, t: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)]).inv,
        [[1.2, 3.0]],
    ),
}

QUESTIONS = {
    "y": lambda t, x: t(x),
    "x again": lambda t, x: t.inv(t(x)),
    "stretch": lambda t, x: t.log_abs_det_jacobian(x, t(x)),
    "stretch back": lambda t, x: t.inv.log_abs_det_jacobian(t(x), x),
    "sign": lambda t, x: t.sign,
    "event_dim": lambda t, x: t.event_dim,
    "domain": lambda t, x: repr(t.domain),
    "codomain": lambda t, x: repr(t.codomain),
    "inverse's domain": lambda t, x: repr(t.inv.domain),
    "event dims": lambda t, x: (t.domain.event_dim, t.codomain.event_dim),
    "bijective": lambda t, x: (t.bijective, t.inv.bijective),
    "forward_shape": lambda t, x: tuple(t.forward_shape(x.shape)),
    "inverse_shape": lambda t, x: tuple(t.inverse_shape(t(x).shape)),
    "a wrong shape": lambda t, x: tuple(t.forward_shape(())),
    "another wrong shape": lambda t, x: tuple(t.inverse_shape((3,))),
    "repr": lambda t, x: repr(t),
    "inverse's repr": lambda t, x: repr(t.inv),
    "the same": lambda t, x: (t == t, t != t, t.inv == t.inv, t.inv is t.inv, t.inv.inv is t),
    "with a cache": lambda t, x: (t.with_cache(1)._cache_size, t.with_cache(0)._cache_size),
    "with a cache, again": lambda t, x: t.with_cache(1)(x),
    "hash": lambda t, x: hash(t),
}


def answer(torch, question):
    try:
        found = question()
    except (NotImplementedError, ValueError, AssertionError, TypeError, RuntimeError, IndexError) as error:
        return f"{type(error).__name__}: {error}".replace("mindtorch_v2", "torch")
    if isinstance(found, torch.Tensor):
        return pytorch.tensor(found.tolist(), dtype=pytorch.float64)
    return found


def alike(ours, theirs, what):
    if isinstance(theirs, pytorch.Tensor):
        pytorch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5, msg=lambda text: f"{what}: {text}")
    else:
        assert ours == theirs, what


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_is_pytorchs(name):
    make, values = TRANSFORMS[name]
    found = []
    for torch in (mindtorch_v2, pytorch):
        transform, x = make(torch.distributions, torch), torch.tensor(values)
        asked = {what: partial(ask, transform, x) for what, ask in QUESTIONS.items()}
        found.append({what: answer(torch, ask) for what, ask in asked.items()})
        found[-1]["equal to another"] = transform == make(torch.distributions, torch)
    for what, theirs in found[1].items():
        alike(found[0][what], theirs, what)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_survives_pickle(name):
    make, values = TRANSFORMS[name]
    transform, x = make(mindtorch_v2.distributions, mindtorch_v2), mindtorch_v2.tensor(values)
    again = pickle.loads(pickle.dumps(transform))
    assert again(x).tolist() == transform(x).tolist()


def test_a_transform_remembers_the_value_a_sample_came_from():
    for torch in (mindtorch_v2, pytorch):
        transform = torch.distributions.TanhTransform(cache_size=1)
        x = torch.tensor(20.0)
        assert transform.inv(transform(x)) is x
        assert torch.distributions.TanhTransform().inv(transform(x)).item() == float("inf")


SETS = {
    "real": lambda c, t: c.real,
    "real_vector": lambda c, t: c.real_vector,
    "positive": lambda c, t: c.positive,
    "nonnegative": lambda c, t: c.nonnegative,
    "greater_than": lambda c, t: c.greater_than(t.tensor([0.0, 1.0])),
    "greater_than_eq": lambda c, t: c.greater_than_eq(0.5),
    "less_than": lambda c, t: c.less_than(0.5),
    "interval": lambda c, t: c.interval(-1, 0.5),
    "half_open_interval": lambda c, t: c.half_open_interval(0.0, 1.0),
    "unit_interval": lambda c, t: c.unit_interval,
    "boolean": lambda c, t: c.boolean,
    "one_hot": lambda c, t: c.one_hot,
    "nonnegative_integer": lambda c, t: c.nonnegative_integer,
    "positive_integer": lambda c, t: c.positive_integer,
    "integer_interval": lambda c, t: c.integer_interval(0, 1),
    "_IntegerLessThan": lambda c, t: c._IntegerLessThan(0),
    "simplex": lambda c, t: c.simplex,
    "multinomial": lambda c, t: c.multinomial(1),
    "lower_triangular": lambda c, t: c.lower_triangular,
    "lower_cholesky": lambda c, t: c.lower_cholesky,
    "corr_cholesky": lambda c, t: c.corr_cholesky,
    "square": lambda c, t: c.square,
    "symmetric": lambda c, t: c.symmetric,
    "positive_semidefinite": lambda c, t: c.positive_semidefinite,
    "positive_definite": lambda c, t: c.positive_definite,
    "independent": lambda c, t: c.independent(c.interval(0.0, 2.0), 2),
    "cat": lambda c, t: c.cat([c.positive, c.real], dim=-1, lengths=[1, 1]),
    "stack": lambda c, t: c.stack([c.positive, c.unit_interval], dim=-1),
    "a mixture's": lambda c, t: c.MixtureSameFamilyConstraint(c.positive),
    "dependent": lambda c, t: c.dependent,
    "dependent, known": lambda c, t: c.dependent(event_dim=1, is_discrete=True),
}
VALUES = [
    [[1.0, 0.0], [0.0, 1.0]],
    [[0.3, -0.2], [0.5, float("nan")]],
    [[2.0, 0.5], [0.5, 1.0]],
    [[1.0, 0.0], [0.6, 0.8]],
    [[1.0, 1.0], [1.0, 1.0]],
]


@pytest.mark.parametrize("name", SETS)
def test_a_set_is_pytorchs(name):
    found = []
    for torch in (mindtorch_v2, pytorch):
        constraint = SETS[name](torch.distributions.constraints, torch)
        questions = {
            "repr": lambda c=constraint: repr(c),
            "is_discrete": lambda c=constraint: c.is_discrete,
            "event_dim": lambda c=constraint: c.event_dim,
            "check": lambda c=constraint, t=torch: t.stack([c.check(t.tensor(v)) for v in VALUES]),
            "check of a number": lambda c=constraint, t=torch: c.check(t.tensor(1.0)),
            "is_dependent": lambda c=constraint, t=torch: t.distributions.constraints.is_dependent(c),
        }
        for registry in ("transform_to", "biject_to"):
            into = getattr(torch.distributions, registry)
            questions[registry] = lambda c=constraint, r=into: repr(r(c))
            x = torch.tensor([[0.3, -1.0], [0.2, 2.0]])
            if name == "corr_cholesky":
                x = torch.tensor([0.3, -1.0, 2.0])
            questions[f"{registry}, used"] = lambda c=constraint, r=into, x=x: r(c)(x)
        found.append({what: answer(torch, ask) for what, ask in questions.items()})
    for what, theirs in found[1].items():
        if not (what == "check of a number" and isinstance(theirs, str)):  # texts of other operators
            alike(found[0][what], theirs, what)


def test_programs_register_sets_of_their_own():
    for torch in (mindtorch_v2, pytorch):
        d = torch.distributions

        class Even(d.constraints.Constraint):
            def check(self, value):
                return value % 2 == 0

        made = d.constraint_registry.ConstraintRegistry()
        made.register(Even, lambda constraint: "for the class")
        assert made(Even()) == "for the class"

        @made.register(d.constraints.positive)
        def for_positive(constraint):
            return constraint.lower_bound

        assert made(d.constraints.greater_than(3.0)) == 3.0
        with pytest.raises(
            TypeError, match="Expected constraint to be either a Constraint subclass or instance, but got 3"
        ):
            made.register(3, lambda constraint: None)
        with pytest.raises(NotImplementedError, match="Cannot transform _Real constraints"):
            made(d.constraints.real)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("diag", [-2, -1, 0, 1])
def test_triangles_become_vectors_and_back_as_in_pytorch(size, diag):
    found = []
    for torch in (mindtorch_v2, pytorch):
        utils = torch.distributions.utils
        matrix = torch.arange(1.0, 2 * size * size + 1).reshape(2, size, size)
        vector = answer(torch, lambda u=utils, m=matrix: u.tril_matrix_to_vec(m, diag))
        back = None
        if not isinstance(vector, str):
            vec = torch.tensor(vector.tolist())
            back = answer(torch, lambda u=utils, v=vec: u.vec_to_tril_matrix(v, diag))
        found.append((vector, back))
    for ours, theirs in zip(*found, strict=True):
        alike(ours, theirs, "triangle")


def test_parameters_broadcast_as_in_pytorch():
    texts = []
    for torch in (mindtorch_v2, pytorch):
        utils = torch.distributions.utils
        leaf = torch.ones(3, dtype=torch.float64)
        first, second = utils.broadcast_all(leaf, 2)
        assert first is leaf
        with pytest.raises(ValueError) as error:
            utils.broadcast_all([1.0], 2)
        texts.append((str(second), str(error.value), str(utils.broadcast_all(1, 2.5)), utils.euler_constant))
        probs = torch.tensor([0.0, 0.3, 1.0])
        texts[-1] += (
            utils.clamp_probs(probs).tolist(),
            utils.probs_to_logits(probs, is_binary=True).tolist(),
        )
    assert texts[0] == texts[1]
