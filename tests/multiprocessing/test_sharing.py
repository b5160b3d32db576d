"""Tensors that cross processes are the same memory on both sides, and nothing is left behind."""

import gc
import os

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.multiprocessing as mp


@pytest.fixture(params=sorted(mp.get_all_sharing_strategies()))
def strategy(request):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


def named_objects():
    """Of this process and its children, which all have had its number as a parent's."""
    return {name for name in os.listdir("/dev/shm") if name.startswith(f"mindtorch_{os.getpid()}_")}


def double_in_place(strategy, inbox, outbox):
    mp.set_sharing_strategy(strategy)
    for value in iter(inbox.get, None):
        tensor = value["x"] if isinstance(value, dict) else value
        with torch.no_grad():
            tensor.mul_(2)
            outbox.put((type(tensor).__name__, tensor.requires_grad, tensor.is_shared(), tensor + 1))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_writes_of_a_child_are_seen_and_its_tensors_arrive(strategy, method):
    context = mp.get_context(method)
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=double_in_place, args=(strategy, inbox, outbox), daemon=True)
    process.start()
    x = torch.arange(6.0).reshape(2, 3)
    parameter = torch.nn.Parameter(torch.ones(2))
    for value, tensor, name in [
        (x, x, "Tensor"),
        ({"x": x[1]}, x[1], "Tensor"),
        (parameter, parameter, "Parameter"),
        (torch.empty(0), torch.empty(0), "Tensor"),
    ]:
        inbox.put(value)
        kind, needs_grad, shared, answer = outbox.get(timeout=30)
        assert (kind, needs_grad, shared) == (name, tensor.requires_grad, True)
        assert answer.tolist() == (tensor.detach() + 1).tolist()
        del answer
    inbox.put(None)
    process.join(60)
    assert process.exitcode == 0
    assert x.tolist() == [[0.0, 2.0, 4.0], [12.0, 16.0, 20.0]] and parameter.tolist() == [2.0, 2.0]
    del x, parameter, tensor, value, inbox, outbox
    gc.collect()
    assert not named_objects()


def add_one(tensor):
    return tensor + 1


def test_a_pool_takes_and_gives_tensors(strategy):
    with mp.get_context("fork").Pool(2) as pool:
        results = pool.map(add_one, [torch.full((3,), float(i)) for i in range(4)])
        pool.close()  # or its processes would be ended while they still hold what they were given
        pool.join()
    assert [result.tolist() for result in results] == [[i + 1.0] * 3 for i in range(4)]


def test_sharing_moves_the_memory_and_keeps_tensors_valid(strategy):
    x = torch.arange(4.0)
    row = x[1:]
    x.share_memory_()
    assert x.is_shared() and row.is_shared() and row.tolist() == [1.0, 2.0, 3.0]
    assert (x.untyped_storage().filename is not None) == (strategy == "file_system")
    assert bool(named_objects()) == (strategy == "file_system")
    with pytest.raises(RuntimeError, match="not resizable"):
        x.untyped_storage().resize_(100)
    del x, row
    assert not named_objects()


def test_descriptors_are_closed_with_their_storages():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        torch.ones(1000).share_memory_()
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_cannot_be_sent_says_so():
    from multiprocessing.reduction import ForkingPickler

    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        ForkingPickler.dumps(leaf * 2)
    with pytest.raises(RuntimeError, match="cannot send an NPU storage to another process"):
        ForkingPickler.dumps(torch.ones(2).npu())
    with pytest.raises(RuntimeError, match="Cannot pickle meta storage"):
        ForkingPickler.dumps(torch.ones(2, device="meta").untyped_storage())
    with pytest.raises(AssertionError, match="invalid sharing strategy 'pigeon'"):
        mp.set_sharing_strategy("pigeon")


def test_a_meta_tensor_and_a_dtype_cross_by_value():
    from multiprocessing.reduction import ForkingPickler

    x = ForkingPickler.loads(ForkingPickler.dumps(torch.empty(1 << 40, device="meta", dtype=torch.float16)))
    assert x.is_meta and x.shape == (1 << 40,) and x.dtype is torch.float16


def fill(index, tensor):
    tensor[index] = index + 1


def test_spawn_runs_the_function_in_every_process():
    x = torch.zeros(2).share_memory_()
    assert mp.spawn(fill, args=(x,), nprocs=2) is None
    assert x.tolist() == [1.0, 2.0]


def fail_second(index, gate):
    if index == 1:
        raise ValueError("the second one fails")
    gate.wait()


def end_by(index, how):
    if how == "signal":
        os.kill(os.getpid(), 9)
    os._exit(3)


def test_a_failing_process_ends_the_others_and_tells_its_traceback():
    gate = mp.get_context("fork").Event()
    with pytest.raises(mp.ProcessRaisedException, match="ValueError: the second one fails") as caught:
        mp.start_processes(fail_second, args=(gate,), nprocs=2, start_method="fork")
    assert caught.value.error_index == 1


@pytest.mark.parametrize(("how", "text"), [("signal", "with signal SIGKILL"), ("exit", "with exit code 3")])
def test_a_process_that_ends_badly_is_named(how, text):
    with pytest.raises(mp.ProcessExitedException, match=f"process 0 terminated {text}") as caught:
        mp.start_processes(end_by, args=(how,), nprocs=1, start_method="fork")
    assert caught.value.exit_code == (-9 if how == "signal" else 3)


def test_a_context_can_be_joined_later():
    x = torch.zeros(2).share_memory_()
    context = mp.start_processes(fill, args=(x,), nprocs=2, join=False, start_method="fork")
    assert len(context.pids()) == 2
    while not context.join(timeout=30):
        pass
    assert x.tolist() == [1.0, 2.0]
