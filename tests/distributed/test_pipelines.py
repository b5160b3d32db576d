"""Pipelines: models in stages, in worlds of 2, 3 and 4 processes, on the CPU and on NPUs."""

from pathlib import Path

import pytest
import world_checks
import worlds

import mindtorch_v2.distributed as dist
from mindtorch_v2.distributed.pipelining import _actions, schedules
from mindtorch_v2.distributed.pipelining._exchange import needed_by, sent_by

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


def test_every_order_runs_every_microbatch_once_on_every_stage_and_never_waits_for_ever():
    for order, ranks, stages in orders():
        routes = [{stage + 1: None} for stage in range(stages - 1)] + [{}]
        microbatches = {action.microbatch_index for actions in order.values() for action in actions}
        for rank, actions in order.items():
            assert len(actions) == len(set(actions)) == 2 * len(microbatches) * stages // ranks
            assert {action.stage_index % ranks for action in actions} == {rank}
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
    with pytest.raises(NotImplementedError, match="not in this library"):
        schedules.get_schedule_class("ZBVZeroBubble")
