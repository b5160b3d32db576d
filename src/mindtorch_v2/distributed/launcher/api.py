"""``elastic_launch(config, function)(arguments)``: the functions behind ``torchrun``."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..elastic.agent import Job, run
from ..elastic.meeting import Terms
from ..elastic.multiprocessing import DefaultLogsSpecs, LogsSpecs

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]

_REFUSED = {"etcd", "etcd-v2"}


@dataclass
class LaunchConfig:
    """How many machines and processes, how they meet, and what happens when one fails."""

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: LogsSpecs | None = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "c10d"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None

    def __post_init__(self) -> None:
        if self.nproc_per_node < 1 or not 1 <= self.min_nodes <= self.max_nodes:
            raise ValueError(
                f"{self.nproc_per_node} processes on {self.min_nodes} to {self.max_nodes} machines cannot be started: "
                "at least one of each, and the fewest machines at most the most"
            )
        if self.rdzv_backend in _REFUSED:
            raise NotImplementedError(
                f"the rendezvous backend {self.rdzv_backend!r} is not in this library; use c10d or static"
            )
        if self.rdzv_backend not in ("c10d", "static"):
            raise ValueError(
                f"there is no rendezvous backend {self.rdzv_backend!r}; c10d and static are there"
            )
        absent = {
            "numa_options": self.numa_options,
            "virtual_local_rank": self.virtual_local_rank,
            "duplicate_stdout_filters": self.duplicate_stdout_filters,
            "duplicate_stderr_filters": self.duplicate_stderr_filters,
        }
        for name, value in absent.items():
            if value:
                raise NotImplementedError(f"{name} is not in this library: leave it out")
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs()
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout

    def terms(self) -> Terms:
        """What the machines must agree on."""
        given = self.rdzv_configs
        static = self.rdzv_backend == "static"
        rank = int(given.get("rank", 0)) if static else None
        host = given.get("is_host")
        return Terms(
            run_id=self.run_id or uuid.uuid4().hex,
            fewest=self.min_nodes,
            most=self.max_nodes,
            endpoint=self.rdzv_endpoint or "localhost:0",
            node_rank=rank,
            serves=rank == 0
            if static
            else (None if host is None else str(host).lower() in ("1", "true", "t", "yes", "y")),
            patience=float(given.get("join_timeout", given.get("timeout", 900 if static else 600))),
            last_call=float(given.get("last_call_timeout", 30)),
        )


class elastic_launch:
    """Calls a function, or runs a command, in all processes."""

    def __init__(
        self,
        config: LaunchConfig,
        entrypoint: Callable[..., Any] | str | None,
        health_check_server: Any = None,
    ) -> None:
        if health_check_server is not None:
            raise NotImplementedError("health_check_server is not in this library: leave it out")
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(
    config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, args: list[Any]
) -> dict[int, Any]:
    """What the function returned in the processes of this machine, by rank."""
    if not entrypoint:
        raise ValueError("nothing to launch was given: entrypoint must be a function or a command")
    assert config.logs_specs is not None
    job = Job(
        entrypoint,
        tuple(args),
        config.nproc_per_node,
        config.terms(),
        role=config.role,
        max_restarts=config.max_restarts,
        monitor_interval=config.monitor_interval,
        start_method=config.start_method,
        prefix=config.log_line_prefix_template,
        logs=config.logs_specs,
        signals=config.signals_to_handle,
        shutdown_timeout=30.0 if config.shutdown_timeout is None else config.shutdown_timeout,
    )
    return run(job)
