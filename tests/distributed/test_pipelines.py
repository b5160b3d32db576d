"""Pipelines: models in stages, in worlds of 2, 3 and 4 processes, on the CPU and on NPUs."""

from pathlib import Path

import pytest
import world_checks
import worlds

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
from mindtorch_v2.distributed.pipelining import _actions, schedules
from mindtorch_v2.distributed.pipelining._exchange import needed_by, sent_by
from mindtorch_v2.distributed.pipelining._halves import Halves
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

PROGRAM = Path(__file__).with_name("pipeline_checks.py")
has_gloo = pytest.mark.skipif(not dist.is_gloo_available(), reason="the extra 'distributed' is not installed")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "device, size",
    [*(pytest.param("cpu", size, marks=has_gloo) for size in (2, 3, 4)), ("npu", 2)],
)
def test_pipelines_in_a_world_compute_what_one_process_computes(device, size):
    settings = {}
    if device == "npu":
        settings = {"MINDTORCH_NPU": "soft", "SOFTNPU_DEVICES": str(size), "SOFTNPU_MEMORY": "256MiB"}
        settings |= {"PIPELINE_DEVICE": "npu", "PIPELINE_BACKEND": "hccl"}
    assert "passed check_gpipe" in world_checks.run(PROGRAM, size, **settings)


def orders():
    for ranks in (1, 2, 3, 4, 8):
        for microbatches in range(1, 17):
            yield _actions.gpipe(ranks, microbatches), ranks, ranks
            if microbatches >= ranks:
                yield _actions.one_forward_one_backward(ranks, microbatches), ranks, ranks
            for local in (1, 2, 3):
                yield _actions.looped_breadth_first(ranks, local, microbatches), ranks, ranks * local
                if microbatches % max(1, microbatches // ranks) == 0:
                    yield _actions.interleaved(ranks, local, microbatches), ranks, ranks * local
                    yield _actions.interleaved_zero_bubble(ranks, local, microbatches), ranks, ranks * local
            yield _actions.v_zero_bubble(ranks, microbatches), ranks, 2 * ranks
            if microbatches >= 2 * ranks:
                yield _actions.dual_pipe_v(ranks, microbatches), ranks, 2 * ranks


def test_every_order_runs_every_microbatch_once_on_every_stage_and_never_waits_for_ever():
    for order, ranks, stages in orders():
        routes = [{stage + 1: None} for stage in range(stages - 1)] + [{}]
        microbatches = {action.microbatch_index for actions in order.values() for action in actions}
        ran = set()
        for actions in order.values():
            assert (
                len(actions) == len(set(actions)) and len(ran & {each.stage_index for each in actions}) == 0
            )
            ran |= {each.stage_index for each in actions}
            kinds = {(stage, number): "" for stage in ran for number in microbatches}
            for stage, kind, number in actions:
                kinds[stage, number] += str(kind)
            assert {kinds[stage, number] for stage, _, number in actions} <= {"FB", "FIW"}
            assert len(actions) == sum(map(len, kinds.values()))
            assert (
                len({(stage, number) for stage, _, number in actions}) == len(microbatches) * stages // ranks
            )
        assert ran == set(range(stages))
        sent, at = set(), dict.fromkeys(order, 0)
        while any(at[rank] < len(actions) for rank, actions in order.items()):
            before = dict(at)
            for rank, actions in order.items():
                while at[rank] < len(actions) and set(needed_by(routes, actions[at[rank]])) <= sent:
                    sent.update(sent_by(routes, actions[at[rank]]))
                    at[rank] += 1
            assert at != before, order


@has_gloo
def test_who_waits_for_one_message_does_not_wait_for_the_next():
    worlds.check("""
        for number in range(100):
            rooms = [torch.zeros(1), torch.zeros(1)]
            if rank == 0:
                first, second = (dist.irecv(room, 1) for room in rooms)
                first.wait()
                dist.send(rooms[0] + 1, 1)
                second.wait()
                assert rooms[1].item() == number + 2
            else:
                dist.send(torch.tensor([float(number)]), 0)
                dist.recv(rooms[0], 0)
                dist.send(rooms[0] + 1, 0)
    """)


def test_schedules_have_names():
    assert schedules.get_schedule_class("1f1b") is schedules.Schedule1F1B
    with pytest.raises(ValueError, match="Unknown schedule name 'foo'"):
        schedules.get_schedule_class("foo")
    assert schedules.get_schedule_class("zbvzerobubble") is schedules.ScheduleZBVZeroBubble


def idle(order, stages):
    """How many moments processes wait, if an action takes one (a whole backward pass two)."""
    clock, at, last = dict.fromkeys(order, 0), dict.fromkeys(order, 0), {}
    routes = [{stage + 1: None} for stage in range(stages - 1)] + [{}]
    waited = 0
    while any(at[rank] < len(actions) for rank, actions in order.items()):
        for rank, actions in order.items():
            while at[rank] < len(actions):
                action = actions[at[rank]]
                needed = needed_by(routes, action)
                if any(message not in last for message in needed):
                    break
                begun = max([clock[rank], *(last[message] for message in needed)])
                waited += begun - clock[rank]
                clock[rank] = begun + (2 if str(action.computation_type) == "B" else 1)
                last.update(dict.fromkeys(sent_by(routes, action), clock[rank]))
                at[rank] += 1
    return waited + sum(max(clock.values()) - each for each in clock.values())


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_halves_of_backward_passes_fill_waits(ranks):
    microbatches = 2 * ranks
    usual = idle(_actions.interleaved(ranks, 2, microbatches), 2 * ranks)
    halves = idle(_actions.interleaved_zero_bubble(ranks, 2, microbatches), 2 * ranks)
    in_a_v = idle(_actions.v_zero_bubble(ranks, microbatches), 2 * ranks)
    both_ways = idle(_actions.dual_pipe_v(ranks, microbatches), 2 * ranks)
    assert halves == both_ways == usual // 3 and in_a_v < usual // 2, (usual, halves, in_a_v, both_ways)


def test_gradients_in_two_halves_are_those_of_one_pass():
    def model(tied):
        torch.manual_seed(0)
        first, second, third = (torch.nn.Linear(4, 4) for _ in range(3))
        return torch.nn.Sequential(
            first, torch.nn.Tanh(), torch.nn.LayerNorm(4), first if tied else second, torch.nn.GELU(), third
        )

    for tied in (False, True):
        whole, halved = model(tied), model(tied)
        given = torch.randn(3, 4)
        inputs = [torch.randn(3, 4).requires_grad_() for _ in range(2)]
        inputs[1].data.copy_(inputs[0])
        whole(inputs[0]).backward(given)
        halves = Halves([halved(inputs[1])], [given], [inputs[1]])
        (found,) = halves.first()
        torch.testing.assert_close(found, inputs[0].grad)
        assert inputs[1].grad is None and all((each.grad is None) != tied for each in halved.parameters())
        halves.second()
        for one, other in zip(halved.parameters(), whole.parameters(), strict=True):
            torch.testing.assert_close(one.grad, other.grad)


def test_the_second_half_computes_nothing_that_the_first_did():
    class Counted(TorchDispatchMode):
        products = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.products += "mm" in str(func)
            return func(*args, **(kwargs or {}))

    layers = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(3)))
    given = torch.randn(2, 4, requires_grad=True)
    halves = Halves([layers(given).sum()], [None], [given])
    for half in (halves.first, halves.second):
        with Counted() as counted:
            half()
        assert counted.products == 3
