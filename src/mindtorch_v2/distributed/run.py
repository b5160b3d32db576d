"""``torchrun``: runs a program as many processes, on one machine or several.

python -m mindtorch_v2.distributed.run --nproc-per-node 4 train.py --epochs 3
torchrun --nnodes 2 --nproc-per-node 8 --rdzv-endpoint first:29400 --rdzv-backend c10d train.py   # on both machines
"""

from __future__ import annotations

import os
import sys
import uuid
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from runpy import run_path
from typing import Any

from .. import _C, accelerator
from .argparse_util import check_env, env
from .elastic.agent import OtherMachineFailed
from .elastic.meeting import RendezvousError
from .elastic.multiprocessing import ChildFailedError, DefaultLogsSpecs, Std
from .elastic.multiprocessing.api import SignalException
from .elastic.multiprocessing.errors import record
from .launcher.api import LaunchConfig, elastic_launch


def get_args_parser() -> ArgumentParser:
    """A parser of the options."""
    parser = ArgumentParser(
        prog="torchrun", description="Runs a program as many processes that work together."
    )
    add_options(parser)
    return parser


def add_options(parser: ArgumentParser) -> None:
    """The options."""

    def option(name: str, *short: str, action: Any = env, **kwargs: Any) -> None:
        spelled = dict.fromkeys((f"--{name}", f"--{name.replace('-', '_')}"))
        parser.add_argument(*short, *spelled, action=action, **kwargs)

    option("nnodes", type=str, default="1:1", help="machines, or the fewest and the most as FEWEST:MOST")
    option(
        "nproc-per-node",
        type=str,
        default="1",
        help="processes on each: a number, cpu, gpu (accelerators) or auto",
    )
    option("rdzv-backend", type=str, default="static", help="how machines meet: static or c10d")
    option("rdzv-endpoint", type=str, default="", help="where they meet: HOST:PORT")
    option("rdzv-id", type=str, default="none", help="a name of the run")
    option(
        "rdzv-conf",
        type=str,
        default="",
        help="more about meeting: KEY=VALUE,... (join_timeout, last_call_timeout, is_host)",
    )
    option("standalone", action=check_env, help="one machine: meets itself on a free port")
    option("max-restarts", type=int, default=0, help="how often the processes may be started again")
    option("monitor-interval", type=float, default=0.1, help="seconds between looks at the processes")
    option(
        "start-method",
        type=str,
        default="spawn",
        choices=["spawn", "fork", "forkserver"],
        help="for functions",
    )
    option("event-log-handler", type=str, default="null", help="not used")
    option("role", type=str, default="default", help="a name for the processes")
    option("module", "-m", action=check_env, help="the program is a module")
    option("no-python", action=check_env, help="the program is not Python's")
    option(
        "run-path", action=check_env, help="run the program by runpy in a process that this package prepared"
    )
    option("log-dir", type=str, default=None, help="the folder of logs")
    option(
        "redirects",
        "-r",
        type=str,
        default="0",
        help="streams that go to files: 1 stdout, 2 stderr, 3 both, or RANK:STREAM,...",
    )
    option(
        "tee", "-t", type=str, default="0", help="streams that go to files and, with a prefix, to the console"
    )
    option("local-ranks-filter", type=str, default="", help="processes to be seen on the console: 0,1,...")
    option("duplicate-stdout-filters", type=str, default="", help="not here")
    option("duplicate-stderr-filters", type=str, default="", help="not here")
    option("node-rank", type=int, default=0, help="static: which machine this is")
    option("master-addr", type=str, default="127.0.0.1", help="static: the first machine")
    option("master-port", type=int, default=29500, help="static: a port there")
    option("local-addr", type=str, default=None, help="an address of this machine")
    option("logs-specs", type=str, default=None, help="not here")
    option("numa-binding", type=str, default=None, help="not here")
    option(
        "signals-to-handle",
        type=str,
        default="SIGTERM,SIGINT,SIGHUP,SIGQUIT",
        help="signals that stop all processes",
    )
    option(
        "shutdown-timeout", type=int, default=None, help="seconds until processes that should end are killed"
    )
    option("virtual-local-rank", action=check_env, help="not here")
    parser.add_argument("training_script", type=str, help="the program")
    parser.add_argument("training_script_args", nargs=REMAINDER, help="its arguments")


def parse_args(args: Sequence[str] | None) -> Namespace:
    """The options that were given."""
    return get_args_parser().parse_args(args)


def parse_min_max_nnodes(nnodes: str) -> tuple[int, int]:
    """``"2"`` or ``"1:4"``."""
    parts = nnodes.split(":")
    if len(parts) > 2 or not all(each.isdigit() for each in parts):
        raise RuntimeError(f"nnodes={nnodes} is not in the format of MIN_NODES:MAX_NODES, or a number")
    return int(parts[0]), int(parts[-1])


def determine_local_world_size(nproc_per_node: str) -> int:
    """How many processes a machine gets."""
    if nproc_per_node.isdigit():
        return int(nproc_per_node)
    devices = _accelerators()
    cores = os.cpu_count() or 1
    if nproc_per_node == "cpu":
        return cores
    if nproc_per_node == "auto":
        return devices or cores
    if nproc_per_node in ("gpu", *_C._accelerator_types()):
        if devices == 0:
            raise ValueError(
                f"--nproc-per-node is {nproc_per_node}, and there is no accelerator here; give a number or cpu"
            )
        return devices
    raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}; give a number, cpu, gpu or auto")


def get_rdzv_endpoint(args: Namespace) -> str:
    """Where machines meet: what was given, or the first machine and its port."""
    if args.rdzv_backend == "static" and not args.rdzv_endpoint:
        return f"{args.master_addr}:{args.master_port}"
    return str(args.rdzv_endpoint)


def get_use_env(args: Namespace) -> bool:
    """Whether programs read LOCAL_RANK from the environment, which they do unless ``use_env`` was set to False."""
    return bool(getattr(args, "use_env", True))


def _accelerators() -> int:
    return accelerator.device_count()


def _conf(text: str) -> dict[str, str]:
    found = {}
    for each in filter(None, (part.strip() for part in text.split(","))):
        key, sign, value = each.partition("=")
        if not sign or not key or not value:
            raise ValueError(f"--rdzv-conf has {each!r}: give <key1>=<value1>,<key2>=<value2>,...")
        found[key] = value
    return found


def config_from_args(args: Namespace) -> tuple[LaunchConfig, Callable[..., Any] | str, list[str]]:
    """What to launch, and how."""
    fewest, most = parse_min_max_nnodes(args.nnodes)
    processes = determine_local_world_size(args.nproc_per_node)
    if "OMP_NUM_THREADS" not in os.environ and processes > 1:
        print(
            f"torchrun: OMP_NUM_THREADS is set to 1 for each of {processes} processes, so that they do not share "
            "cores; set it yourself to use more.",
            file=sys.stderr,
        )
        os.environ["OMP_NUM_THREADS"] = "1"
    backend, endpoint, run_id, conf = (
        args.rdzv_backend,
        args.rdzv_endpoint,
        args.rdzv_id,
        _conf(args.rdzv_conf),
    )
    if args.standalone or (
        backend == "static" and most == 1 and not endpoint and not _given("master_port", args)
    ):
        backend, endpoint, run_id, conf = "c10d", "localhost:0", uuid.uuid4().hex, {"is_host": "1"}
    elif backend == "static":
        conf["rank"] = str(args.node_rank)
        endpoint = get_rdzv_endpoint(args)
    shown = {int(each) for each in args.local_ranks_filter.split(",")} if args.local_ranks_filter else None
    absent = {
        name: getattr(args, name)
        for name in ("logs_specs", "duplicate_stdout_filters", "duplicate_stderr_filters")
    }
    for name, value in absent.items():
        if value:
            raise NotImplementedError(f"--{name.replace('_', '-')} is not in this library: leave it out")
    config = LaunchConfig(
        min_nodes=fewest,
        max_nodes=most,
        nproc_per_node=processes,
        logs_specs=DefaultLogsSpecs(
            args.log_dir, Std.from_str(args.redirects), Std.from_str(args.tee), shown
        ),
        run_id=run_id,
        role=args.role,
        rdzv_endpoint=endpoint,
        rdzv_backend=backend,
        rdzv_configs=conf,
        max_restarts=args.max_restarts,
        monitor_interval=args.monitor_interval,
        start_method=args.start_method,
        log_line_prefix_template=os.environ.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"),
        local_addr=args.local_addr,
        numa_options=args.numa_binding,
        signals_to_handle=args.signals_to_handle,
        virtual_local_rank=args.virtual_local_rank,
        shutdown_timeout=args.shutdown_timeout,
    )
    return config, *_program(args)


def _given(name: str, args: Namespace) -> bool:
    return bool(getattr(args, name) != get_args_parser().get_default(name))


def _program(args: Namespace) -> tuple[Callable[..., Any] | str, list[str]]:
    script, rest = args.training_script, list(args.training_script_args)
    if args.run_path:
        return run_script_path, [script, *rest]
    if args.no_python:
        if args.module:
            raise ValueError("--no-python and --module exclude each other: a module is Python's")
        return script, rest
    python = [os.environ.get("PYTHON_EXEC", sys.executable), "-u"]
    return python[0], [*python[1:], *(["-m"] if args.module else []), script, *rest]


def run_script_path(training_script: str, *training_script_args: str) -> None:
    """Runs a file as the main program of a process that is there already."""
    sys.argv = [training_script, *training_script_args]
    run_path(training_script, run_name="__main__")


def run(args: Namespace) -> None:
    """Launches what the options say."""
    config, entrypoint, arguments = config_from_args(args)
    elastic_launch(config, entrypoint)(*arguments)


@record
def main(args: Sequence[str] | None = None) -> None:
    """Launches what the command line says."""
    run(parse_args(args))


def command(args: Namespace | None = None) -> int:
    """The command as users type it: what went wrong is a text, not a traceback of the launcher."""
    try:
        record(run)(args or parse_args(None))
    except (ChildFailedError, OtherMachineFailed, RendezvousError, ValueError, NotImplementedError) as error:
        print(f"torchrun: {error}", file=sys.stderr)
        return 1
    except SignalException as stopped:
        print(f"torchrun: {stopped}; all processes were stopped", file=sys.stderr)
        return 128 + stopped.sigval
    return 0


if __name__ == "__main__":
    sys.exit(command())
