"""nn.utils and nn.init against PyTorch."""

import warnings

import numpy as np
import pytest
import torch.nn.utils.prune  # noqa: F401 - PyTorch does not import it by itself


def same(ours, theirs, rtol=1e-5, atol=1e-6):
    assert list(ours.shape) == list(theirs.shape)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol, atol)


def same_state(ours, theirs, **tolerance):
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for value, other in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        same(value, other, **tolerance)


def outcome(action):
    """What an action gives: its text, or its exception's type and message; and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            text = repr(action())
        except Exception as error:  # noqa: BLE001 - compared with the other library's
            text = f"{type(error).__name__}: {error}"
    noted = [(w.category, str(w.message).partition(" (Triggered")[0]) for w in caught]
    return text.replace("mindtorch_v2", "torch"), noted


def both_ways(both, action):
    """Runs an action in both libraries with the same seed; gives (ours, theirs)."""
    torch, ours = both
    results = []
    for library in (ours, torch):
        library.manual_seed(7)
        results.append(action(library))
    return results


INITS = [
    ("trunc_normal_", (7,), {}),
    ("trunc_normal_", (40, 30), {"std": 0.02}),
    ("trunc_normal_", (50, 5), {"mean": 0.0, "a": 1.5, "b": 3.0}),
    ("orthogonal_", (4, 6), {}),
    ("orthogonal_", (6, 4), {"gain": 2.0}),
    ("orthogonal_", (4, 3, 3), {}),
    ("sparse_", (10, 5), {"sparsity": 0.3}),
    ("dirac_", (6, 3, 3), {"groups": 2}),
    ("dirac_", (4, 4, 3, 3), {}),
    ("eye_", (3, 4), {}),
]


@pytest.mark.parametrize(("name", "shape", "options"), INITS)
def test_first_values_come_from_the_same_draws(both, name, shape, options):
    def action(library):
        values = getattr(library.nn.init, name)(library.empty(shape), **options)
        return values, library.rand(3)

    ours, theirs = both_ways(both, action)
    same(ours[0], theirs[0])
    same(ours[1], theirs[1], rtol=0, atol=0)  # the generators stand at the same place


def test_init_refuses_and_warns_as_pytorch_does(both):
    def actions(library):
        init, zeros = library.nn.init, library.zeros
        return [
            outcome(action)
            for action in (
                lambda: init.dirac_(zeros(2, 2)),
                lambda: init.dirac_(zeros(3, 2, 3), groups=2),
                lambda: init.orthogonal_(zeros(3)),
                lambda: init.sparse_(zeros(3), 0.1),
                lambda: init.trunc_normal_(zeros(3), mean=9).shape,
                lambda: init.uniform(zeros(3)).shape,
                lambda: init.kaiming_normal(zeros(3, 2)).shape,
            )
        ]

    ours, theirs = both_ways(both, actions)
    assert ours == theirs


def model(library):
    nn = library.nn
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))


@pytest.mark.parametrize("norm", [1.0, 2.0, float("inf")])
@pytest.mark.parametrize("limit", [0.01, 100.0])
def test_gradients_are_clipped_to_the_same_norm(both, norm, limit):
    def action(library):
        made = model(library)
        made(library.ones(4, 3)).sum().backward()
        total = library.nn.utils.clip_grad_norm_(made.parameters(), limit, norm)
        library.nn.utils.clip_grad_value_(made.parameters(), 0.005)
        return [total, *(p.grad for p in made.parameters())]

    for ours, theirs in zip(*both_ways(both, action), strict=True):
        same(ours, theirs)


def test_clipping_answers_odd_arguments_as_pytorch_does(both):
    def actions(library):
        utils = library.nn.utils
        parameter = library.nn.Parameter(library.zeros(2))
        parameter.grad = library.tensor([1.0, float("inf")])
        empty = (p for p in [])
        return [
            outcome(action)
            for action in (
                lambda: utils.clip_grad_norm_([parameter], 1.0, error_if_nonfinite=True),
                lambda: utils.clip_grad_norm_(empty, 1.0),
                lambda: utils.clip_grad_norm(parameter, 1.0),
                lambda: utils.get_total_norm([library.ones(3), library.ones(2)]),
                lambda: utils.vector_to_parameters([1], [parameter]),
            )
        ]

    ours, theirs = both_ways(both, actions)
    assert ours == theirs


def test_parameters_go_into_a_vector_and_back(both):
    def action(library):
        made = model(library)
        vector = library.nn.utils.parameters_to_vector(made.parameters())
        library.nn.utils.vector_to_parameters(vector * 2, made.parameters())
        return [vector, *made.parameters()]

    for ours, theirs in zip(*both_ways(both, action), strict=True):
        same(ours, theirs)


WRAPS = {
    "weight_norm": lambda lib, layer: lib.nn.utils.weight_norm(layer),
    "weight_norm_of_all": lambda lib, layer: lib.nn.utils.weight_norm(layer, dim=None),
    "spectral_norm": lambda lib, layer: lib.nn.utils.spectral_norm(layer),
    "parametrized_weight_norm": lambda lib, layer: lib.nn.utils.parametrizations.weight_norm(layer),
    "parametrized_spectral_norm": lambda lib, layer: lib.nn.utils.parametrizations.spectral_norm(layer),
    "orthogonal": lambda lib, layer: lib.nn.utils.parametrizations.orthogonal(layer),
    "cayley": lambda lib, layer: lib.nn.utils.parametrizations.orthogonal(layer, orthogonal_map="cayley"),
    "exponential": lambda lib, layer: lib.nn.utils.parametrizations.orthogonal(
        layer, orthogonal_map="matrix_exp"
    ),
    "householder": lambda lib, layer: lib.nn.utils.parametrizations.orthogonal(
        layer, orthogonal_map="householder", use_trivialization=False
    ),
}
LAYERS = {
    "linear": (lambda nn: nn.Linear(3, 5), (4, 3)),
    "square": (lambda nn: nn.Linear(4, 4), (2, 4)),
    "wide": (lambda nn: nn.Linear(6, 2), (2, 6)),
    "conv": (lambda nn: nn.Conv2d(2, 3, 2), (1, 2, 4, 4)),
    "transposed": (lambda nn: nn.ConvTranspose1d(2, 3, 2), (1, 2, 4)),
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_normed_weights_train_as_pytorch_s_do(both, wrap, layer):
    make, shape = LAYERS[layer]

    def action(library):
        made = WRAPS[wrap](library, make(library.nn))
        input = library.arange(float(np.prod(shape))).reshape(shape) / 10
        losses = []
        for _ in range(3):
            loss = (made(input) ** 2).sum()
            loss.backward()
            losses.append(loss)
            with library.no_grad():
                for parameter in made.parameters():
                    parameter -= 0.01 * parameter.grad
                    parameter.grad = None
        return made, losses

    (ours, our_losses), (theirs, their_losses) = both_ways(both, action)
    assert repr(ours) == repr(theirs)
    for loss, other in zip(our_losses, their_losses, strict=True):
        same(loss, other, rtol=1e-3, atol=1e-4)
    same_state(ours, theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("layer", ["linear", "conv"])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_norms_come_off_again(both, layer):
    make, shape = LAYERS[layer]

    def action(library):
        utils = library.nn.utils
        results = []
        for wrap, unwrap in (
            ("weight_norm", utils.remove_weight_norm),
            ("spectral_norm", utils.remove_spectral_norm),
            ("parametrized_weight_norm", lambda m: utils.parametrize.remove_parametrizations(m, "weight")),
            ("orthogonal", lambda m: utils.parametrize.remove_parametrizations(m, "weight")),
        ):
            made = WRAPS[wrap](library, make(library.nn))
            made(library.ones(shape))
            results.append(unwrap(made))
        return results

    for ours, theirs in zip(*both_ways(both, action), strict=True):
        assert repr(ours) == repr(theirs)
        assert [type(p).__name__ for p in ours.parameters()] == ["Parameter", "Parameter"]
        same_state(ours, theirs)


def test_parametrizations_are_refused_as_pytorch_refuses_them(both):
    def actions(library):
        nn, parametrize = library.nn, library.nn.utils.parametrize

        def module(change):
            return type("Changed", (nn.Module,), {"forward": lambda self, X: change(X)})()

        pair = nn.Linear(3, 3)
        parametrize.register_parametrization(pair, "weight", module(lambda X: X.triu()))
        return [
            outcome(action)
            for action in (
                lambda: parametrize.register_parametrization(
                    nn.Linear(3, 3), "weight", module(lambda X: X[:1])
                ),
                lambda: parametrize.register_parametrization(
                    nn.Linear(3, 3), "weight", module(lambda X: X.double())
                ),
                lambda: parametrize.register_parametrization(nn.Linear(3, 3), "weight", module(lambda X: 3)),
                lambda: parametrize.register_parametrization(pair, "nothing", module(lambda X: X)),
                lambda: setattr(pair, "weight", library.zeros(3, 3)),
                lambda: parametrize.remove_parametrizations(nn.Linear(2, 2), "weight"),
                lambda: pair,
                lambda: parametrize.is_parametrized(pair, "weight"),
                lambda: parametrize.type_before_parametrizations(pair).__name__,
                lambda: pair.__getstate__(),
                lambda: nn.utils.parametrizations.orthogonal(nn.Linear(3, 4), orthogonal_map="x"),
                lambda: nn.utils.parametrizations.orthogonal(nn.Linear(3, 4), "bias"),
                lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4), "nothing"),
                lambda: nn.utils.remove_weight_norm(nn.Linear(3, 4)),
                lambda: nn.utils.remove_spectral_norm(nn.Linear(3, 4)),
                lambda: nn.utils.spectral_norm(nn.Linear(3, 4), n_power_iterations=0),
                lambda: nn.utils.skip_init(nn.ReLU),
            )
        ]

    ours, theirs = both_ways(both, actions)
    assert ours == theirs


PRUNINGS = {
    "l1": lambda prune, m: prune.l1_unstructured(m, "weight", 5),
    "l1_share": lambda prune, m: prune.l1_unstructured(m, "weight", 0.3),
    "random": lambda prune, m: prune.random_unstructured(m, "weight", 0.5),
    "rows": lambda prune, m: prune.ln_structured(m, "weight", 2, 2, 0),
    "columns": lambda prune, m: prune.ln_structured(m, "weight", 0.5, 1, -1),
    "random_rows": lambda prune, m: prune.random_structured(m, "weight", 2, 0),
    "identity": lambda prune, m: prune.identity(m, "bias"),
    "global": lambda prune, m: prune.global_unstructured(
        [(m, "weight"), (m, "bias")], prune.L1Unstructured, amount=7
    ),
}


@pytest.mark.parametrize("second", ["l1", "rows", "random"])
@pytest.mark.parametrize("first", PRUNINGS)
def test_the_same_elements_are_pruned(both, first, second):
    def action(library):
        prune = library.nn.utils.prune
        made = library.nn.Linear(5, 4)
        PRUNINGS[first](prune, made)
        PRUNINGS[second](prune, made)
        output = made(library.ones(2, 5))
        output.sum().backward()
        pruned = {name: value.detach() for name, value in made.state_dict().items()}
        gradient = made.weight_orig.grad
        prune.remove(made, "weight")
        return pruned, output, gradient, made

    (pruned, output, gradient, made), (their_pruned, their_output, their_gradient, theirs) = both_ways(
        both, action
    )
    assert list(pruned) == list(their_pruned)
    for value, other in zip(pruned.values(), their_pruned.values(), strict=True):
        same(value, other)
    same(output, their_output)
    same(gradient, their_gradient)
    same_state(made, theirs)


def test_pruning_is_refused_as_pytorch_refuses_it(both):
    def actions(library):
        prune = library.nn.utils.prune
        layer = library.nn.Linear(3, 4)
        return [
            outcome(action)
            for action in (
                lambda: prune.remove(layer, "weight"),
                lambda: prune.l1_unstructured(layer, "weight", 20),
                lambda: prune.l1_unstructured(layer, "weight", -1),
                lambda: prune.l1_unstructured(layer, "weight", "x"),
                lambda: prune.l1_unstructured(layer, "weight", 1.5),
                lambda: prune.ln_structured(layer, "bias", 1, 2, 0),
                lambda: prune.ln_structured(layer, "weight", 1, 2, 5),
                lambda: prune.custom_from_mask(layer, "weight", library.ones(1)),
                lambda: prune.global_unstructured([(layer, "weight")], prune.RandomStructured, amount=1),
                lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1),
                lambda: prune.l1_unstructured(layer, "weight", 1, importance_scores=library.ones(2)),
                lambda: prune.is_pruned(layer),
                lambda: sorted(layer.state_dict()),
            )
        ]

    ours, theirs = both_ways(both, actions)
    assert ours == theirs


def test_batch_norm_folds_into_the_layer_before_it(both):
    def action(library):
        nn = library.nn
        results = []
        for layer, norm, shape in (
            (nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), (2, 2, 4, 4)),
            (nn.Linear(4, 3), nn.BatchNorm1d(3), (5, 4)),
        ):
            input = library.rand(shape)
            norm(layer(input))  # moves the running statistics
            layer.eval(), norm.eval()
            fuse = nn.utils.fuse_linear_bn_eval if len(shape) == 2 else nn.utils.fuse_conv_bn_eval
            fused = fuse(layer, norm)
            results += [fused(input), norm(layer(input)), fused.weight]
        return results

    ours, theirs = both_ways(both, action)
    for value, other in zip(ours, theirs, strict=True):
        same(value, other)
    same(ours[0], ours[1], rtol=1e-4, atol=1e-5)


def test_packed_sequences_are_packed_padded_and_refused_as_pytorch_does(both):
    def actions(library):
        rnn = library.nn.utils.rnn
        rows = [library.arange(3 * n).reshape(n, 3) * 1.0 for n in (2, 4, 1)]
        ordered = [rows[1], rows[0], rows[2]]
        padded = rnn.pad_sequence(rows)
        packed = rnn.pack_sequence(rows, enforce_sorted=False)
        return [
            outcome(action)
            for action in (
                lambda: padded,
                lambda: rnn.pad_sequence(rows, batch_first=True, padding_value=-1.0, padding_side="left"),
                lambda: packed,
                lambda: rnn.pack_sequence(ordered),
                lambda: rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-2.0, total_length=6),
                lambda: rnn.unpack_sequence(packed),
                lambda: rnn.unpad_sequence(padded.clone(), library.tensor([2, 4, 1])),
                lambda: packed.double(),
                lambda: packed.to("cpu") is packed,
                lambda: rnn.pack_sequence(rows),
                lambda: rnn.pack_padded_sequence(padded, [4, 2]),
                lambda: rnn.pack_padded_sequence(padded, [4, 2, 0]),
                lambda: rnn.pad_packed_sequence(packed, total_length=2),
                lambda: rnn.pad_sequence([]),
                lambda: rnn.pad_sequence(3),
                lambda: rnn.pad_sequence(rows, padding_side="x"),
                lambda: rnn.PackedSequence(library.zeros(5)),
                lambda: rnn.invert_permutation(library.tensor([2, 0, 1])),
            )
        ]

    ours, theirs = both_ways(both, actions)
    for got, wanted in zip(ours, theirs, strict=True):
        assert got == wanted
