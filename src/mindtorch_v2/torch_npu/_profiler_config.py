"""``torch_npu.profiler._ExperimentalConfig`` and the names of its options."""

from __future__ import annotations

import warnings

from ..profiler._config import Options


class ProfilerLevel:
    """How much of the NPU's tasks is recorded; here it is always all."""

    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"
    Level_none = "Level_none"


class AiCMetrics:
    """Counters of the AI cores, which are not read here."""

    PipeUtilization = "ACL_AICORE_PIPE_UTILIZATION"
    ArithmeticUtilization = "ACL_AICORE_ARITHMETIC_UTILIZATION"
    Memory = "ACL_AICORE_MEMORY_BANDWIDTH"
    MemoryL0 = "ACL_AICORE_L0B_AND_WIDTH"
    MemoryUB = "ACL_AICORE_MEMORY_UB"
    ResourceConflictRatio = "ACL_AICORE_RESOURCE_CONFLICT_RATIO"
    L2Cache = "ACL_AICORE_L2_CACHE"
    MemoryAccess = "ACL_AICORE_MEMORY_ACCESS"
    AiCoreNone = "ACL_AICORE_NONE"


class ExportType:
    """The kinds of files that torch_npu writes."""

    Db = "db"
    Text = "text"


class HostSystem:
    """What torch_npu can record of the host beside the program."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"
    NUMA = "numa"


def _values(options: type) -> set[str]:
    return {value for name, value in vars(options).items() if not name.startswith("_")}


def supported_profiler_level() -> set[str]:
    return _values(ProfilerLevel)


def supported_ai_core_metrics() -> set[str]:
    return _values(AiCMetrics)


def supported_export_type() -> set[str]:
    return _values(ExportType)


class _ExperimentalConfig:
    """What ``profile(experimental_config=…)`` takes. Where an option asks for data of CANN's own profiler, which
    this one does not read, a warning says so, and the rest is recorded."""

    def __init__(
        self,
        profiler_level: str = ProfilerLevel.Level0,
        aic_metrics: str = AiCMetrics.AiCoreNone,
        l2_cache: bool = False,
        msprof_tx: bool = False,
        mstx: bool = False,
        data_simplification: bool = True,
        record_op_args: bool = False,
        op_attr: bool = False,
        gc_detect_threshold: float | None = None,
        export_type: str | list[str] = ExportType.Text,
        host_sys: list[str] | None = None,
        mstx_domain_include: list[str] | None = None,
        mstx_domain_exclude: list[str] | None = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
    ) -> None:
        for name, value, known in (
            ("profiler_level", profiler_level, supported_profiler_level()),
            ("aic_metrics", aic_metrics, supported_ai_core_metrics()),
        ):
            if value not in known:
                raise ValueError(f"_ExperimentalConfig({name}={value!r}): must be one of {sorted(known)}")
        self.profiler_level = profiler_level
        self.export_type = [export_type] if isinstance(export_type, str) else list(export_type)
        asked = {
            "aic_metrics": aic_metrics != AiCMetrics.AiCoreNone,
            "l2_cache": l2_cache,
            "msprof_tx": msprof_tx,
            "mstx": mstx,
            "record_op_args": record_op_args,
            "op_attr": op_attr,
            "gc_detect_threshold": gc_detect_threshold is not None,
            "export_type": ExportType.Db in self.export_type,
            "host_sys": host_sys,
            "sys_io": sys_io,
            "sys_interconnection": sys_interconnection,
        }
        self._not_recorded = [name for name, value in asked.items() if value]

    def check(self) -> Options:
        """Warns of what will not be in the trace."""
        if self._not_recorded:
            warnings.warn(
                f"_ExperimentalConfig: {', '.join(self._not_recorded)} ask for data of CANN's profiler, which are "
                "not recorded. Operators, NPU tasks and memory are.",
                stacklevel=5,
            )
        return Options()
