"""Names that packages import and that are real here do what PyTorch's do."""

import importlib
import warnings

import numpy as np
import pytest


def module(library, name):
    return importlib.import_module(f"{library.__name__}.{name}")


def outcome(function, library):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            made = function(library)
        except Exception as error:  # noqa: BLE001 - compared with the other library's
            made = f"{type(error).__name__}: {error}"
    return str((made, [str(each.message) for each in told])).replace("mindtorch_v2", "torch")


SOBOL = {
    "plain": lambda E: E(5).draw(17),
    "one dimension": lambda E: E(1).draw(9),
    "double": lambda E: E(3).draw(8, dtype=None),
    "many dimensions": lambda E: E(1111).draw(3).sum(0)[-20:],
    "scrambled with a seed": lambda E: E(6, scramble=True, seed=11).draw(33),
    "scrambled, in two parts": lambda E: (lambda e: [e.draw(3), e.draw(5)])(E(4, scramble=True, seed=2)),
    "some left out": lambda E: E(3).fast_forward(1000).draw(4),
    "started over": lambda E: (lambda e: [e.draw(3), e.reset().draw(3), e.num_generated])(E(2, True, 5)),
    "a power of two": lambda E: E(2).draw_base2(4),
    "no power of two": lambda E: (lambda e: [e.draw(3), e.draw_base2(2)])(E(2)),
    "too many dimensions": lambda E: E(30000),
    "none": lambda E: E(0),
    "text": lambda E: repr(E(3, scramble=True, seed=4)),
}


@pytest.mark.parametrize("case", SOBOL)
def test_points_of_sobols_sequence(both, case):
    theirs, ours = (outcome(lambda t: SOBOL[case](module(t, "quasirandom").SobolEngine), t) for t in both)
    assert ours == theirs


def test_points_scrambled_by_the_global_generator(both):
    for library in both:
        library.manual_seed(9)
    theirs, ours = (module(t, "quasirandom").SobolEngine(7, scramble=True).draw(20) for t in both)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def steps(t):
    return module(t, "utils.data.datapipes.iter")


PIPES = {
    "shuffled": lambda t: list(steps(t).IterableWrapper(range(30)).shuffle(buffer_size=7).set_seed(5)),
    "shuffled whole": lambda t: list(steps(t).IterableWrapper(range(30)).shuffle().set_seed(6)),
    "batches": lambda t: list(steps(t).IterableWrapper(range(7)).batch(3)),
    "batches dropped": lambda t: list(steps(t).IterableWrapper(range(7)).batch(3, drop_last=True)),
    "no batch": lambda t: steps(t).IterableWrapper(range(7)).batch(0),
    "unbatched": lambda t: list(steps(t).IterableWrapper([[[1], [2]], [[3]]]).unbatch(unbatch_level=2)),
    "unbatched all": lambda t: list(steps(t).IterableWrapper([[[1], [2]], [[3]]]).unbatch(unbatch_level=-1)),
    "columns": lambda t: list(steps(t).IterableWrapper([(1, 2, 3)]).map(max, input_col=[0, 2])),
    "a column": lambda t: list(steps(t).IterableWrapper([[1, 2, 3]]).map(str, input_col=1)),
    "a column more": lambda t: list(steps(t).IterableWrapper([(1, 2)]).map(str, input_col=1, output_col=-1)),
    "filtered": lambda t: list(steps(t).IterableWrapper(range(5)).filter(bool)),
    "zipped": lambda t: list(steps(t).IterableWrapper(range(3)).zip(steps(t).IterableWrapper("abcd"))),
    "in turn": lambda t: list(steps(t).IterableWrapper(range(3)).mux(steps(t).IterableWrapper("abcd"))),
    "after each other": lambda t: list(
        steps(t).IterableWrapper(range(3)).concat(steps(t).IterableWrapper("ab"))
    ),
    "collated": lambda t: [b.tolist() for b in steps(t).IterableWrapper(range(4)).batch(2).collate()],
    "keys shuffled": lambda t: list(
        module(t, "utils.data.datapipes.map").SequenceWrapper(range(20)).shuffle().set_seed(3)
    ),
    "keys batched": lambda t: module(t, "utils.data.datapipes.map").SequenceWrapper(range(5)).batch(2)[2],
    "keys beyond": lambda t: module(t, "utils.data.datapipes.map").SequenceWrapper(range(5)).batch(2)[3],
}


@pytest.mark.parametrize("case", PIPES)
def test_datasets_made_of_steps(both, case):
    theirs, ours = (outcome(PIPES[case], t) for t in both)
    assert ours == theirs


SMALL = {
    "reduction": lambda t: [module(t, "nn._reduction").get_enum(r) for r in ("none", "mean", "sum")],
    "reduction wrong": lambda t: module(t, "nn._reduction").get_enum("x"),
    "reduction older": lambda t: [
        module(t, "nn._reduction").legacy_get_string(a, r)
        for a in (None, True, False)
        for r in (None, True, False)
    ],
    "reduction older number": lambda t: module(t, "nn._reduction").legacy_get_enum(
        False, None, emit_warning=False
    ),
    "seeds of workers": lambda t: module(t, "utils.data._utils.worker")._generate_state(123456789012, 3),
    "names of functions": lambda t: module(t, "_jit_internal")._qualified_name(np.testing.assert_equal),
    "gathered namedtuples": lambda t: module(t, "nn.parallel.scatter_gather").gather([None, None], 0),
    "not a device": lambda t: module(t, "_utils")._get_device_index("cpu"),
    "a device": lambda t: [module(t, "_utils")._get_device_index(d, allow_cpu=True) for d in ("cpu", 3)],
    "an element": lambda t: [module(t, "_utils")._element_size(d) for d in (t.int8, t.float64, t.bfloat16)],
    "all elements": lambda t: t._check_tensor_all(t.tensor([True, False]), lambda: "not all"),
    "no elements": lambda t: t._check_tensor_all(t.tensor([1.0]), lambda: "not all"),
    "initialised": lambda t: (t.manual_seed(1), t.nn.init._no_grad_uniform_(t.empty(3), 0, 1))[1].tolist(),
    "cut": lambda t: [t.nn.init._no_grad_trunc_normal_(t.zeros(3), 0, 1, -2, 2) is not None],
    "lists flattened": lambda t: module(t, "utils._pytree")._list_flatten_with_keys([1, 2]),
}


@pytest.mark.parametrize("case", SMALL)
def test_small_names(both, case):
    theirs, ours = (outcome(SMALL[case], t) for t in both)
    assert ours == theirs


def sequences(t, bounds_of_keys, grad_out=None, device="cpu"):
    unpack = module(t, "utils.flop_counter")._unpack_flash_attention_nested_shapes
    query, value = t.zeros(7, 2, 4), t.zeros(7, 2, 5)
    bounds = None if bounds_of_keys is None else t.tensor([0, 3, 7], device=device)
    keys = None if bounds_of_keys is None else t.tensor(bounds_of_keys, device=device)
    found = unpack(
        query=query,
        key=query,
        value=value,
        grad_out=grad_out,
        cum_seq_q=bounds,
        cum_seq_k=keys,
        max_q=4,
        max_k=5,
    )
    return [[None if shape is None else list(shape) for shape in shapes] for shapes in found]


OUTSIDE = {
    "sequences one after the other": lambda t: sequences(t, [0, 2, 7]),
    "with gradients": lambda t: sequences(t, [0, 3, 7], t.zeros(7, 2, 4)),
    "of which only shapes are known": lambda t: sequences(t, [0, 3, 7], device="meta"),
    "no sequences": lambda t: sequences(t, None),
    "the exception of graphs": lambda t: module(t, "_dynamo.exc").TorchDynamoException.__mro__[1:],
    "versions": lambda t: str(module(t, "_vendor.packaging.version").parse("2.10.1+cpu").release),
    "fully_shard is the function": lambda t: callable(module(t, "distributed._composable.fsdp").fully_shard),
    "its old module": lambda t: (
        module(t, "distributed._composable.fsdp.fully_shard").FSDPModule
        is module(t, "distributed.fsdp").FSDPModule
    ),
    "the overload of an annotation's end": lambda t: callable(t.ops.profiler._record_function_exit._RecordFunction),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_that_packages_need_to_be_imported(both, name):
    theirs, ours = (outcome(OUTSIDE[name], library) for library in both)
    assert ours == theirs


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("_C", "parse_schema"),
        ("distributed._shard.sharding_spec", "ChunkShardingSpec"),
        ("distributed._shard.sharding_spec._internals", "_check_shard_metadata_pair_overlap"),
        ("distributed.fsdp._flat_param", "FlatParameter"),
        ("nn.attention", "_get_flash_version"),
        ("onnx.symbolic_opset9", "sub"),
    ],
)
def test_names_of_what_is_not_here_can_be_imported_and_refuse(both, where, name):
    theirs, ours = both
    assert hasattr(module(theirs, where), name)
    with pytest.raises(NotImplementedError):
        getattr(module(ours, where), name)()
