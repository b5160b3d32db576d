"""What is above the collectives in torch.distributed does in two processes what PyTorch's does."""

import argparse
import importlib
import logging
import pickle
import signal
from pathlib import Path

import pytest
from rank_processes import run_ranks

import mindtorch_v2.distributed as dist

has_gloo = pytest.mark.skipif(not dist.is_gloo_available(), reason="the extra 'distributed' is not installed")
PROGRAM = Path(__file__).with_name("distributed_names_program.py")


def run(framework, folder):
    run_ranks(2, lambda rank: [PROGRAM, framework, folder, rank])
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in (0, 1)]


def differences(own, expected, where=""):
    """Numbers may differ as roundings do."""
    if isinstance(expected, dict) and isinstance(own, dict) and own.keys() == expected.keys():
        pairs = [(key, own[key], value) for key, value in expected.items()]
    elif isinstance(expected, (list, tuple)) and isinstance(own, (list, tuple)) and len(own) == len(expected):
        pairs = list(zip(range(len(own)), own, expected, strict=True))
    elif own == (pytest.approx(expected, rel=1e-4, abs=1e-5) if isinstance(expected, float) else expected):
        return []
    else:
        return [f"{where}: {str(own)[:300]} instead of {str(expected)[:300]}"]
    return [each for key, a, b in pairs for each in differences(a, b, f"{where}[{key}]")]


@has_gloo
def test_counts_hooks_averages_and_steps_are_those_of_pytorch(tmp_path):
    folders = {name: tmp_path / name for name in ("torch", "mindtorch_v2")}
    for folder in folders.values():
        folder.mkdir()
    theirs, ours = (run(name, folder) for name, folder in folders.items())
    found = differences(ours, theirs)
    assert not found, f"{len(found)} differ:\n" + "\n".join(found[:20])


def module(library, name):
    return importlib.import_module(f"{library.__name__}.distributed.{name}")


def parsed(library, *given):
    """What options have whose defaults the environment may give."""
    from_environment = module(library, "argparse_util")
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("--nodes", action=from_environment.env, type=int, default=1)
    parser.add_argument("--name", action=from_environment.env, required=True)
    parser.add_argument("--alone", action=from_environment.check_env)
    parser.add_argument("--loud", action=from_environment.check_env, default=True)
    return vars(parser.parse_args(given))


@pytest.mark.parametrize("environment", [{}, {"NAME": "here", "NODES": "4", "ALONE": "1", "LOUD": "0"}])
@pytest.mark.parametrize("given", [["--name", "a", "--alone"], ["--name", "b", "--nodes", "3", "--loud"], []])
def test_options_are_given_or_come_from_the_environment(both, monkeypatch, environment, given):
    for name, value in environment.items():
        monkeypatch.setenv(f"PET_{name}", value)
    if not environment and not given:
        for library in both:
            with pytest.raises((SystemExit, argparse.ArgumentError)):
                parsed(library)
        return
    theirs, ours = (parsed(library, *given) for library in both)
    assert ours == theirs


def caught(library):
    api = module(library, "elastic.multiprocessing.api")
    try:
        raise api.SignalException("stopped", signal.SIGTERM)
    except module(library, "elastic.multiprocessing").SignalException as error:
        return str(error), error.sigval


def streams(library):
    api = module(library, "elastic.multiprocessing.api")
    std = api.Std
    found = [api.to_map(each, 3) for each in (std.ERR, {0: std.OUT, 2: std.ALL})]
    return [{rank: int(each) for rank, each in given.items()} for given in found]


def endpoints(library):
    run = module(library, "run")
    given = {"master_addr": "first", "master_port": 5}
    args = [
        argparse.Namespace(rdzv_backend=b, rdzv_endpoint=e, **given)
        for b in ("static", "c10d")
        for e in ("", "x:1")
    ]
    return [run.get_rdzv_endpoint(each) for each in args], [
        run.get_use_env(each) for each in (args[0], argparse.Namespace(use_env=False))
    ]


def logged(library):
    get_logger = module(library, "elastic.utils.logging").get_logger
    own, named = get_logger(), get_logger("of a test")
    return own.name, named.name, named.level, module(library, "elastic.utils.log_level").get_log_level()


def handlers(library):
    errors = "elastic.multiprocessing.errors"
    handler = module(library, f"{errors}.handlers").get_error_handler()
    return isinstance(handler, module(library, f"{errors}.error_handler").ErrorHandler), isinstance(
        module(library, errors).get_error_handler(), module(library, errors).ErrorHandler
    )


def meshes(library):
    here = module(library, "tensor.device_mesh")
    mesh = module(library, "device_mesh")
    return here.DeviceMesh is mesh.DeviceMesh, here.init_device_mesh is mesh.init_device_mesh


@pytest.mark.parametrize(
    "what", [caught, streams, endpoints, logged, handlers, meshes], ids=lambda f: f.__name__
)
def test_small_modules(both, what):
    theirs, ours = map(what, both)
    assert ours == theirs


def test_a_logger_says_what_the_environment_wants(both, monkeypatch):
    monkeypatch.setenv("LOGLEVEL", "INFO")
    for library in both:
        assert module(library, "elastic.utils.logging").get_logger("of another").level == logging.INFO
