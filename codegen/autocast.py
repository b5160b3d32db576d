"""Casts of torch.autocast: codegen/autocast.yaml as statements at the start of an operator."""

from __future__ import annotations

import functools

import yaml

from .reader import ROOT
from .row import Row

POLICIES = ("lower", "widest", "float32", "float32_result", "alone", "refused")
DEVICES = ("cpu", "npu")


@functools.cache
def lists() -> dict[str, dict[str, str]]:
    """By device: the policy of each operator that has one."""
    document = yaml.safe_load((ROOT / "codegen" / "autocast.yaml").read_text())
    if set(document) != set(DEVICES):
        raise ValueError(f"codegen/autocast.yaml: wanted the devices {DEVICES}, got {sorted(document)}")
    found: dict[str, dict[str, str]] = {}
    for device, groups in document.items():
        policies: dict[str, str] = {}
        for policy, names in groups.items():
            if policy not in POLICIES:
                raise ValueError(
                    f"codegen/autocast.yaml: unknown policy {policy!r}; known: {', '.join(POLICIES)}"
                )
            for name in names.split():
                if name in policies:
                    raise ValueError(f"codegen/autocast.yaml: {name} is listed twice for {device}")
                policies[name] = policy
        found[device] = policies
    return found


def check(rows: list[Row]) -> None:
    """Every name of the lists must be an operator, so that none is misspelt or left behind."""
    known = {row.name for row in rows} | {row.cpp_name for row in rows}
    for device, policies in lists().items():
        for name in policies:
            if name not in known:
                raise ValueError(f"codegen/autocast.yaml: {device}: {name} is no operator of the table")


def policies(row: Row) -> str | None:
    """The row's policies as a C++ initializer; None where autocast leaves it alone."""
    chosen = []
    for device in DEVICES:
        table = lists()[device]
        policy = table.get(row.name) or table.get(row.cpp_name) or "none"
        if policy == "float32_result" and "dtype" not in {a.name for a in row.schema.arguments}:
            raise ValueError(f"{row.source}: float32_result, but the operator has no dtype=")
        chosen.append(policy)
    if chosen == ["none"] * len(DEVICES):
        return None
    return "{" + ", ".join(f"autocast::Policy::{policy}" for policy in chosen) + "}"


def statements(row: Row) -> list[str]:
    """The call of the operator by itself with cast arguments, where autocast is on."""
    chosen = policies(row)
    if chosen is None or row.factory:
        return []
    arguments = row.schema.arguments
    tensors = ", ".join(f"&{a.name}" for a in arguments if a.type.tensor)
    listed = ", ".join(a.name for a in arguments if a.type.tensor_list)
    values = []
    for a in arguments:
        if a.type.holds_tensors:
            values.append(f"cast({a.name})")
        elif a.name == "dtype" and "float32_result" in chosen:
            values.append("cast.dtype(dtype)")
        else:
            values.append(a.name)
    return [
        "  if (autocast::active()) [[unlikely]] {",
        f'    const autocast::Cast cast("{row.public_name.lstrip("_")}", {chosen}, {{{tensors}}}, {{{listed}}});',
        f"    if (cast.applies()) return {row.cpp_name}({', '.join(values)});",
        "  }",
    ]
