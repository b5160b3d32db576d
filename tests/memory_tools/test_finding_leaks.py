"""Ten planted leaks are found with the line that allocates and the name that holds; programs without one have none."""

import functools
import gc

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import memory_tools, nn

STEPS = 9
SIZE = 20_000  # floats: no two programs' blocks share a size class by accident

everything = []  # the global of one of the leaks


def network():
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).npu()


def inputs():
    return torch.ones(32, 64, device="npu")


def list_of_losses(step):
    model, x, losses = network(), inputs(), []
    for _ in range(STEPS):
        loss = model(x).square().mean()
        loss.backward()
        losses.append(loss.detach() * torch.ones(SIZE, device="npu"))  # leaks: list_of_losses
        model.zero_grad()
        del loss
        step()
    return step.leaks()


def closure(step):
    callbacks = []

    def later(value):
        return lambda: value.sum()

    for _ in range(STEPS):
        made = torch.ones(SIZE, device="npu")  # leaks: closure
        callbacks.append(later(made))
        del made
        step()
    return step.leaks()


def hook(step):
    model, x = network(), inputs()
    for _ in range(STEPS):
        activation = torch.ones(SIZE, device="npu")  # leaks: hook
        model[0].register_forward_hook(functools.partial(lambda kept, *_: None, activation))
        del activation
        with torch.no_grad():
            model(x)
        step()
    return step.leaks()


def cache(step):
    @functools.cache
    def mask(length):
        return torch.ones(SIZE + length, device="npu")  # leaks: cache

    for number in range(STEPS):
        mask(number)
        step()
    return step.leaks()


class Ring:
    def __init__(self, data):
        self.data, self.me = data, self


def cycle(step):
    for _ in range(STEPS):
        Ring(torch.ones(SIZE, device="npu"))  # leaks: cycle
        step()
    return step.leaks()


def traceback_of_an_exception(step):
    errors = []

    def work():
        partial_result = torch.ones(SIZE, device="npu")  # leaks: traceback_of_an_exception
        raise ValueError(f"bad sample of {partial_result.numel()}")

    for _ in range(STEPS):
        try:
            work()
        except ValueError as error:
            errors.append(error)
        step()
    return step.leaks()


def stream_that_is_not_left(step):
    x = inputs()
    for _ in range(STEPS):
        torch.npu.set_stream(torch.npu.Stream())
        x.square()
        step()
    return step.leaks()


def retained_graph(step):
    model, x, total = network(), inputs(), 0.0
    for _ in range(STEPS):
        total = total + model(x).square().mean()  # leaks: retained_graph
        step()
    return step.leaks()


class Remembering(torch.utils.data.Dataset):
    def __init__(self):
        self.seen = {}

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        self.seen[index] = torch.ones(SIZE, device="npu")  # leaks: data_loader
        return index


def data_loader(step):
    loader = torch.utils.data.DataLoader(Remembering(), batch_size=1)
    for _ in loader:
        step()
    return step.leaks()


def global_list(step):
    for _ in range(STEPS):
        everything.append(torch.ones(SIZE, device="npu"))  # leaks: global_list
        step()
    return step.leaks()


# What the way to the tensor must say.
HOLDERS = {
    list_of_losses: ["local 'losses' of list_of_losses", "["],
    closure: ["local 'callbacks' of closure", "closure's 'value'"],
    hook: ["local 'model' of hook", "_forward_hooks", "its arguments"],
    cache: ["the cache of mask"],
    cycle: ["reference cycle", "Ring.data"],
    traceback_of_an_exception: ["local 'errors'", "__traceback__", "local 'partial_result' of work"],
    retained_graph: ["local 'total' of retained_graph", "its graph", "saved '"],
    data_loader: ["seen"],
    global_list: ["global 'everything'"],
}  # fmt: skip


class Steps:
    def __init__(self, tracker):
        self._tracker = tracker
        self.leaks = tracker.leaks

    def __call__(self):
        torch.npu.synchronize()
        self._tracker.step()


@pytest.fixture
def found(memory):
    """``found(program)``: its leaks, with nothing left of it afterwards."""
    gc.collect()
    gc.disable()  # the collector would end a cycle at a moment of its own
    stream = torch.npu.current_stream()

    def run(program):
        with memory.track_leaks() as tracker:
            return program(Steps(tracker))

    yield run
    torch.npu.set_stream(stream)
    everything.clear()
    gc.enable()
    gc.collect()


def line_of(name):
    with open(__file__) as file:
        for number, line in enumerate(file, 1):
            if f"# leaks: {name}\n" in line:
                return number
    raise AssertionError(name)


@pytest.mark.parametrize("program", HOLDERS, ids=lambda program: program.__name__)
def test_a_planted_leak_is_named_with_its_line_and_its_holder(found, program):
    leaks = found(program)
    here = [leak for leak in leaks if f"{__file__}:{line_of(program.__name__)} in" in leak.line]
    assert here and all(leak.what == "tensors" for leak in here), [str(leak) for leak in leaks]
    assert {leak.line for leak in leaks} == {here[0].line}  # and nothing else
    assert here[0].blocks_per_step == pytest.approx(1, abs=0.01)
    for leak in here:
        for word in HOLDERS[program]:
            assert any(word in holder for holder in leak.holders), str(leak)


class Slotted:
    __slots__ = ("data",)

    def __init__(self, data):
        self.data = data


def in_an_array(data):
    array = np.empty(1, dtype=object)
    array[0] = data
    return array


async def waiting(data):
    yield data


def started(data):
    generator = waiting(data)
    with pytest.raises(StopIteration):
        generator.__anext__().send(None)
    return generator


@pytest.mark.parametrize(
    ("hold", "way"),
    [
        (Slotted, "[2].data"),
        (in_an_array, "[2] → element 0"),
        (lambda data: {data: 1}, "[2] → a key of it"),
        (lambda data: {data}, "[2] → in the set"),
        (lambda data: lambda *, kept=data: kept, "[2] → its default 'kept'"),
        (started, "[2] → the generator's frame → local 'data' of waiting"),
    ],
)
def test_the_way_to_a_leak_is_told_whatever_holds_it(found, hold, way):
    def program(step):
        kept = []
        for _ in range(STEPS):
            kept.append(hold(torch.ones(SIZE, device="npu")))
            step()
        return step.leaks()

    (leak,) = found(program)
    assert any("local 'kept' of program" in each and way in each for each in leak.holders), str(leak)


def test_streams_that_are_not_left_are_told_by_the_memory_cached_for_them(found):
    leaks = found(stream_that_is_not_left)
    assert [leak.what for leak in leaks] == ["memory cached for streams"]
    assert leaks[0].blocks_per_step == 1 and leaks[0].bytes_per_step == 2 << 20


def training(step):
    model, x = network(), inputs()
    optimizer = torch.optim.Adam(model.parameters())
    mean, recent = 0.0, []
    for _ in range(STEPS):
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean += loss.item()
        recent = [*recent[-2:], loss.detach()]
        step()
    return step.leaks()


def generating(step):
    for number in range(STEPS):
        keys = torch.zeros(1, 0, 64, device="npu")
        for _ in range(5 + number % 3):
            keys = torch.cat([keys, torch.ones(1, 1, 64, device="npu")], 1)
        del keys
        step()
    return step.leaks()


@pytest.mark.parametrize("program", [training, generating], ids=lambda program: program.__name__)
def test_a_program_without_a_leak_has_none(found, program):
    assert found(program) == []


def test_the_report_says_what_was_found_or_that_nothing_was(memory):
    kept = []
    with memory.track_leaks(warm_up=1) as tracker:
        for _ in range(6):
            tracker.step()
        assert tracker.report() == "nothing grows over 5 steps"
        for _ in range(6):
            kept.append(torch.ones(SIZE, device="npu"))
            tracker.step()
        assert "local 'kept'" in tracker.report() and "a step" in tracker.report()


def test_too_few_steps_and_bad_numbers_are_errors(memory):
    with memory.track_leaks() as tracker:
        tracker.step()
        with pytest.raises(RuntimeError, match="at least 5 steps .* was called 1 times"):
            tracker.leaks()
    with pytest.raises(ValueError, match="warm_up is a number of steps"):
        memory.track_leaks(warm_up=-1)


def test_recording_is_as_it_was_afterwards(memory):
    def entries():
        own = torch.npu._get_allocator(torch.npu.current_device())
        return own._native.snapshot(False)["settings"]["trace_alloc_max_entries"]

    before = entries()
    with memory.track_leaks():
        pass
    assert entries() == before
    memory._record_memory_history(max_entries=50)
    with memory.track_leaks():
        pass
    assert entries() == 50


class Proxy:
    """Answers every question with an error, as objects that stand for others do outside their context."""

    def __getattribute__(self, name):
        raise RuntimeError(f"asked for {name}")


def test_objects_of_the_program_are_not_asked(found):
    proxies = [Proxy()]

    def program(step):
        kept = [proxies]
        for _ in range(STEPS):
            kept.append(torch.ones(SIZE, device="npu"))
            step()
        return step.leaks()

    (leak,) = found(program)
    assert any("local 'kept' of program" in holder for holder in leak.holders)


# --- from a snapshot ------------------------------------------------------------------------------------------


def test_a_snapshot_tells_the_line_that_leaks(memory):
    memory._record_memory_history()
    model, x, losses = network(), inputs(), []
    for _ in range(12):
        loss = model(x).square().mean()
        loss.backward()
        model.zero_grad()
        losses.append(torch.ones(SIZE, device="npu"))  # leaks: a_snapshot
    snapshot = memory_tools.from_data(memory._snapshot())
    (leak,) = memory_tools.leaks(snapshot)
    assert f"{__file__}:{line_of('a_snapshot')} in" in leak.line
    assert leak.blocks == 12 and leak.bytes == 12 * 4 * SIZE


@pytest.mark.parametrize("name", ["gpt", "cnn"])
def test_snapshots_of_training_that_does_not_leak_tell_none(pytorch_snapshot, recorded, name):
    assert memory_tools.leaks(memory_tools.read(pytorch_snapshot(name))) == []
    assert memory_tools.leaks(memory_tools.read(recorded(name))) == []


def test_two_snapshots_tell_what_grew_by_line_category_and_size(memory):
    memory._record_memory_history()
    model = network()
    before = memory_tools.from_data(memory._snapshot())
    kept = [torch.ones(SIZE, device="npu") for _ in range(3)]  # leaks: diff
    model(inputs()).sum().backward()
    after = memory_tools.from_data(memory._snapshot())
    found = memory_tools.diff(before, after)
    place = f"{__file__}:{line_of('diff')} in"
    grown = next(change for change in found.stacks if place in change.what)
    assert (grown.before_blocks, grown.after_blocks) == (0, 3) and grown.grown >= 3 * 4 * SIZE
    gradients = next(change for change in found.categories if change.what == "gradients")
    assert gradients.after_blocks == 4
    assert next(c for c in found.sizes if c.what == "64 KiB to 1 MiB").after_blocks >= 3
    assert found.allocated[1] - found.allocated[0] == sum(change.grown for change in found.stacks)
    assert "by category" in str(found)
    assert all(change.grown == 0 for change in memory_tools.diff(after, after).stacks)
    del kept
