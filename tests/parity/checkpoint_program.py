"""Saves or loads a checkpoint with one of the two libraries.

python checkpoint_program.py LIBRARY save|load FOLDER RANK SIZE FILE
"""

import importlib
import sys
import warnings

library, action, folder, rank, size, store = sys.argv[1:]
torch = importlib.import_module(library)
dist = importlib.import_module(f"{library}.distributed")
dcp = importlib.import_module(f"{library}.distributed.checkpoint")
states = importlib.import_module(f"{library}.distributed.checkpoint.state_dict")
device_mesh = importlib.import_module(f"{library}.distributed.device_mesh")
tensors = importlib.import_module(f"{library}.distributed.tensor")
fsdp = importlib.import_module(f"{library}.distributed.fsdp")

DTYPES = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128 float8_e4m3fn"
)


def whole(name, shape):
    count = 1
    for each in shape:
        count *= each
    return (torch.arange(count) % 7 + 1).reshape(shape).to(getattr(torch, name))


def cut(tensor, mesh, *placements):
    return tensors.distribute_tensor(tensor, mesh, list(placements), src_data_rank=None)


def state(mesh, filled, dims):
    """The same values in both; cut along ``dims`` of each tensor."""
    full = (lambda tensor: tensor) if filled else torch.zeros_like
    made = {"by": {name: full(whole(name, (5,))) for name in DTYPES.split()}}
    made["cut"] = {
        str(dim): cut(full(whole("float32", (7, 6, 5))), mesh, tensors.Shard(at))
        for dim, at in enumerate(dims)
    }
    made["copied"] = cut(full(whole("int64", (3, 2))), mesh, tensors.Replicate())
    made["few"] = cut(full(whole("float32", (1, 2))), mesh, tensors.Shard(0))
    made["turned"] = full(whole("float32", (3, 4))).t()
    made["scalar"] = torch.tensor(3.5 if filled else 0.0)
    made["list"] = [full(whole("float32", (2,))), {"deep": ("tuple", 1) if filled else None}]
    made["words"] = {"epoch": 4, "name": "run", "none": None, "numbers": [1, 2.5, True]} if filled else {
        "epoch": 0, "name": "", "none": 1, "numbers": []
    }  # fmt: skip
    made["parameter"] = torch.nn.Parameter(full(whole("float32", (2, 2))))
    return made


def alike(found, wanted):
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(alike(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(alike, found, wanted))
    if isinstance(wanted, torch.Tensor):
        one, other = (each.to_local() if hasattr(each, "to_local") else each for each in (found, wanted))
        one, other = (each.float() if "float8" in str(each.dtype) else each for each in (one, other))
        return one.dtype == other.dtype and torch.equal(one, other)
    return found == wanted


def training(mesh):
    """A sharded model with values that depend on nothing but the shape, and its optimizer."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_((torch.arange(parameter.numel()) % 5 - 2.0).reshape(parameter.shape) / 7)
    fsdp.fully_shard(model, mesh=mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=0.1)


def steps(model, optimizer, numbers):
    losses = []
    for number in numbers:
        optimizer.zero_grad()
        loss = (model(torch.arange(8.0).reshape(2, 4) / (number + 3)) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


warnings.simplefilter("ignore")
dist.init_process_group("gloo", f"file://{store}", rank=int(rank), world_size=int(size))
mesh = device_mesh.init_device_mesh("cpu", (int(size),))
model, optimizer = training(mesh)
if action == "save":
    steps(model, optimizer, range(2))
    names = ("model", "optimizer")
    dcp.save(
        state(mesh, True, (0, 1, 2)) | dict(zip(names, states.get_state_dict(model, optimizer), strict=True)),
        checkpoint_id=folder,
    )
else:
    found = state(mesh, False, (1, 2, 0))
    dcp.load(found, checkpoint_id=folder)
    wanted = state(mesh, True, (1, 2, 0))
    for key in wanted:
        assert alike(found[key], wanted[key]), (key, found[key], wanted[key])
    undisturbed = training(mesh)
    losses = steps(*undisturbed, range(5))[2:]
    of_model, of_optimizer = states.get_state_dict(model, optimizer)
    dcp.load({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=folder)
    states.set_state_dict(model, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer)
    again = steps(model, optimizer, range(2, 5))
    assert all(abs(a - b) < 1e-6 for a, b in zip(again, losses, strict=True)), (again, losses)
dist.barrier()
dist.destroy_process_group()
