"""Trains for some steps, goes on from the last checkpoint, and writes down its losses: for test_resuming.py.

python resuming_program.py FOLDER STEPS [FAULT]; the faults are below.
"""

import json
import os
import sys
import threading
import warnings
from datetime import timedelta
from pathlib import Path

from checkpoint_world import Training, dcp, dist, loss_of, torch, whole_of

folder, steps, fault = Path(sys.argv[1]), int(sys.argv[2]), (sys.argv + [""])[3]
life = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
warnings.simplefilter("ignore")
dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = dist.get_rank()


class Torn(dcp.FileSystemWriter):
    """Loses this process when its part is written and the others do not know yet."""

    def write_data(self, plan, planner):
        done = super().write_data(plan, planner)
        os.kill(os.getpid(), 9)
        return done


def last():
    """The number of the last step that was saved completely."""
    return max((int(each.parent.name) for each in folder.glob("*/.metadata")), default=0)


def noisy_loss(model, step):
    """With chance of this process's own, which must go on where it was."""
    return loss_of(model, step) + torch.dropout(torch.ones(50), 0.5, True).mean() * sum(
        parameter.to_local().square().sum() if hasattr(parameter, "to_local") else parameter.square().sum()
        for parameter in model.parameters()
    )


class Chance:
    """The state of this process's random numbers."""

    def state_dict(self):
        return {} if steady else {str(rank): torch.get_rng_state()}

    def load_state_dict(self, state):
        if not steady:
            torch.set_rng_state(state[str(rank)])


steady = fault in ("steady", "waits for others")  # the same under any number of processes
training = Training("fsdp")
torch.manual_seed(rank)
begin = last()
if begin:
    dcp.load({"training": training, "chance": Chance()}, checkpoint_id=folder / str(begin))
for step in range(begin, steps):
    if fault == "waits for others" and dist.get_world_size() == 1 and step == 4:
        threading.Event().wait(60)
    training.optimizer.zero_grad()
    loss = (loss_of if steady else noisy_loss)(training.model, step)
    loss.backward()
    if fault == "dies" and life == 0 and step == 5 and rank == 1:
        os.kill(os.getpid(), 9)
    training.optimizer.step()
    with open(folder / f"losses{rank}.txt", "a") as file:
        file.write(
            json.dumps([dist.get_world_size(), life, step, float(whole_of(loss.detach())).hex()]) + "\n"
        )
    if step % 2:
        torn = fault == "dies" and life == 1 and step == 5 and rank == 1
        writer = (Torn if torn else dcp.FileSystemWriter)(folder / str(step + 1))
        dcp.save({"training": training, "chance": Chance()}, storage_writer=writer)
dist.destroy_process_group()
