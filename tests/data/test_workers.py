"""The DataLoader's worker processes: same batches, clear errors, and an end without remains."""

import gc
import os
import select
import signal
import subprocess
import sys
import textwrap

import numpy
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.multiprocessing as mp
from mindtorch_v2.utils import data


class Planes(data.Dataset):
    """Samples large enough for shared memory, with their index."""

    def __len__(self):
        return 22

    def __getitem__(self, index):
        return torch.full((64, 64), float(index)), index


class Draws(data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        import random

        info = data.get_worker_info()
        assert info.seed == torch.initial_seed() and info.num_workers == 2
        return info.id, info.seed, torch.rand(1).item(), random.random(), numpy.random.random()


class Failing(Planes):
    def __getitem__(self, index):
        if index == 5:
            raise KeyError("five")
        return super().__getitem__(index)


class Dying(Planes):
    def __init__(self, how):
        self.how = how

    def __getitem__(self, index):
        if index == 5:
            self.how()
        return super().__getitem__(index)


class Stream(data.IterableDataset):
    def __init__(self, size):
        self.size = size

    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(info.id, self.size, info.num_workers))


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def exit_quietly():
    os._exit(7)


def children():
    gc.collect()
    return [process for process in mp.active_children() if process.is_alive()]


BATCHES = [list(range(start, min(start + 4, 22))) for start in range(0, 22, 4)]


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 1},
        {"num_workers": 2},
        {"num_workers": 2, "prefetch_factor": 1},
        {"num_workers": 2, "persistent_workers": True},
        {"num_workers": 2, "pin_memory": True},
        {"num_workers": 2, "persistent_workers": True, "pin_memory": True, "timeout": 60},
        {"num_workers": 1, "multiprocessing_context": "spawn", "persistent_workers": True},
    ],
    ids=str,
)
def test_batches_come_in_order_and_the_workers_end(options):
    loader = data.DataLoader(Planes(), batch_size=4, **options)
    for _ in range(2):
        batches = list(loader)
        assert [index.tolist() for _, index in batches] == BATCHES
        assert all(x[:, 3, 5].tolist() == index.tolist() for x, index in batches)
        if options.get("pin_memory"):
            assert all(x.is_pinned() and index.is_pinned() for x, index in batches)
        else:
            assert all(x.is_shared() for x, _ in batches)
    assert bool(children()) == options.get("persistent_workers", False)
    del loader
    assert not children()


def test_an_epoch_left_early_does_not_disturb_the_next():
    loader = data.DataLoader(Planes(), batch_size=4, num_workers=2, persistent_workers=True)
    for _, index in loader:
        assert index.tolist() == BATCHES[0]
        break
    assert [index.tolist() for _, index in loader] == BATCHES
    del loader
    assert not children()


def test_without_order_everything_still_comes_once():
    batches = list(data.DataLoader(Planes(), batch_size=4, num_workers=2, in_order=False))
    assert sorted(index.tolist() for _, index in batches) == BATCHES


def test_every_worker_has_generators_of_its_own():
    torch.manual_seed(5)
    rows = [row for row in data.DataLoader(Draws(), batch_size=None, num_workers=2)]
    ids, seeds, *draws = zip(*rows, strict=True)
    assert ids == (0, 1) * 4 and seeds[1] == seeds[0] + 1
    for values in draws:
        assert len(set(values)) == len(rows)
    torch.manual_seed(5)
    assert [row for row in data.DataLoader(Draws(), batch_size=None, num_workers=2)] == rows


def test_streams_end_when_all_workers_have():
    values = [x for batch in data.DataLoader(Stream(17), batch_size=3, num_workers=2) for x in batch.tolist()]
    assert sorted(values) == list(range(17))
    loader = data.DataLoader(Stream(5), batch_size=None, num_workers=2, persistent_workers=True)
    for _ in range(3):
        assert sorted(loader) == list(range(5))


def test_the_init_function_runs_in_the_worker():
    def init(worker_id):
        data.get_worker_info().dataset.size = 2 + worker_id

    values = list(data.DataLoader(Stream(100), batch_size=None, num_workers=2, worker_init_fn=init))
    assert sorted(values) == [0, 1]

    def broken(worker_id):
        raise ValueError("cannot start")

    with pytest.raises(
        ValueError, match="Caught ValueError in DataLoader worker process 0(.|\n)*cannot start"
    ):
        list(data.DataLoader(Planes(), num_workers=2, worker_init_fn=broken))


def test_a_worker_that_cannot_start_says_so_for_every_batch():
    class Broken(data.IterableDataset):
        def __iter__(self):
            raise OSError("no such stream")

    loader = data.DataLoader(Broken(), num_workers=1, persistent_workers=True)
    for _ in range(2):
        iterator = iter(loader)
        for _ in range(3):
            with pytest.raises(
                OSError, match="Caught OSError in DataLoader worker process 0(.|\n)*no such stream"
            ):
                next(iterator)


def test_an_error_in_a_worker_is_raised_here_with_its_traceback():
    loader = data.DataLoader(Failing(), batch_size=2, num_workers=2)
    with pytest.raises(KeyError) as caught:
        list(loader)
    text = str(caught.value)
    assert text.startswith(
        "Caught KeyError in DataLoader worker process 0.\nOriginal Traceback (most recent call last)"
    )
    assert "in __getitem__" in text and text.rstrip().endswith("KeyError: 'five'")


def test_after_an_error_the_other_batches_still_come():
    iterator = iter(data.DataLoader(Failing(), batch_size=2, num_workers=2))
    seen = []
    while True:
        try:
            seen.append(next(iterator)[1].tolist())
        except KeyError:
            seen.append("error")
        except StopIteration:
            break
    assert seen == [[0, 1], [2, 3], "error", *[[i, i + 1] for i in range(6, 22, 2)]]


def test_what_cannot_be_pickled_is_an_error_not_a_hang():
    class Local(Exception):
        pass

    def unpicklable(samples):
        return lambda: samples

    def raising(samples):
        raise Local("of a class nobody else knows")

    with pytest.raises(Exception, match="in DataLoader worker process 0(.|\n)*pickle"):
        list(data.DataLoader(Planes(), num_workers=1, collate_fn=unpicklable))
    with pytest.raises(RuntimeError, match="of a class nobody else knows"):
        list(data.DataLoader(Planes(), num_workers=1, collate_fn=raising))
    assert not children()


@pytest.mark.parametrize("pin_memory", [False, True])
@pytest.mark.parametrize(
    ("how", "text"), [(kill_self, "is killed by signal: Killed"), (exit_quietly, "exited unexpectedly")]
)
def test_a_worker_that_dies_is_named(how, text, pin_memory):
    with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid(\(s\))? \d+\) {text}"):
        list(data.DataLoader(Dying(how), batch_size=2, num_workers=2, pin_memory=pin_memory))
    assert not children()


def test_a_slow_worker_runs_into_the_timeout():
    gate = mp.get_context("fork").Event()

    class Stuck(Planes):
        def __getitem__(self, index):
            gate.wait()

    iterator = iter(data.DataLoader(Stuck(), num_workers=1, timeout=0.05))
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.05 seconds"):
        next(iterator)
    gate.set()


def test_large_messages_both_ways_do_not_block_each_other():
    """Indices and answers that are far larger than what a socket holds."""

    class Echo(data.Dataset):
        def __getitem__(self, indices):
            return bytes(400_000), len(indices)

    batches = [list(range(200_000)) for _ in range(6)]
    loader = data.DataLoader(Echo(), batch_size=None, sampler=batches, num_workers=1, prefetch_factor=4)
    assert [count for _, count in loader] == [200_000] * 6


def test_many_tensors_in_one_batch_arrive():
    def many(samples):
        return [torch.full((10_000,), float(i)) for i in range(450)]

    (batch,) = data.DataLoader([0], num_workers=1, collate_fn=many)
    assert [x[0].item() for x in batch] == list(range(450))


def test_shared_memory_goes_with_the_batches():
    """By name, because names can be counted."""
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_system")
    try:
        iterator = iter(data.DataLoader(Planes(), batch_size=4, num_workers=2))
        prefixes = tuple(f"mindtorch_{process.pid}_" for process in iterator._workers)
        batches = list(iterator)  # the workers, and their share of the memory, are gone

        def names():
            return [name for name in os.listdir("/dev/shm") if name.startswith(prefixes)]

        assert len(names()) == len(batches)
        del batches
        assert names() == []
    finally:
        mp.set_sharing_strategy(before)


def test_descriptors_do_not_pile_up():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(2):
        for _batch in data.DataLoader(Planes(), batch_size=2, num_workers=2):
            pass
    del _batch
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


def run(program, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A suite that a shell runs in the background is told to ignore Ctrl-C, and would hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


PROGRAM = """
    import mindtorch_v2 as torch
    from mindtorch_v2.utils import data

    class Endless(data.IterableDataset):
        def __iter__(self):
            while True:
                yield torch.zeros(20_000)

    loader = data.DataLoader(Endless(), batch_size=2, num_workers=2, pin_memory={pin}, persistent_workers={keep})
    iterator = iter(loader)
    next(iterator)
    print(*[worker.pid for worker in iterator._workers], flush=True)
"""


def gone(pids):
    """Whether the processes, which are not our children, end."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        ended = poll.poll(30_000)
        os.close(descriptor)
        if not ended:
            return False
    return True


@pytest.mark.parametrize(("pin", "keep"), [(False, False), (True, True)])
def test_a_program_that_ends_half_way_ends_its_workers_quietly(pin, keep):
    process = run(PROGRAM.format(pin=pin, keep=keep))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and err == ""
    assert gone(map(int, out.split()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_an_interrupted_or_killed_program(number):
    process = run(PROGRAM.format(pin=False, keep=False) + "    while True: next(iterator)\n")
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    if number == signal.SIGINT:  # as Ctrl-C does, to the whole group
        os.killpg(process.pid, number)
    else:
        process.kill()
    _, err = process.communicate(timeout=60)
    assert gone(pids)
    if number == signal.SIGINT:
        assert err.count("Traceback") == 1 and err.rstrip().endswith("KeyboardInterrupt")
