"""Casts of torch.autocast: codegen/autocast.yaml as statements at the start of an operator."""

from __future__ import annotations

import functools

from . import devices
from .reader import ROOT, TableError, Text, read
from .row import Row

POLICIES = ("lower", "widest", "float32", "float32_inside", "float32_result", "alone", "refused")
DEVICES = tuple(device.autocast for device in devices.DEVICES)


@functools.cache
def lists() -> dict[str, dict[str, Text]]:
    """By device: the policy of each operator that has one."""
    document = read(ROOT / "codegen" / "autocast.yaml")
    found: dict[str, dict[str, Text]] = {device: {} for device in DEVICES}
    for device in document:
        if device not in found:
            document.fail(f"unknown device {device!r}; known: {', '.join(DEVICES)}", device)
        groups = document.entry(device)
        for policy in groups:
            if policy not in POLICIES:
                groups.fail(f"unknown policy {policy!r}; known: {', '.join(POLICIES)}", policy)
            for name in (groups.text(policy) or "").split():
                if name in found[device]:
                    groups.fail(f"{name} is listed twice for {device}", policy)
                found[device][name] = policy
    return found


def check(rows: list[Row]) -> None:
    """Every name of the lists must be an operator, so that none is misspelt or left behind."""
    known = {row.name for row in rows} | {row.cpp_name for row in rows}
    for device, policies in lists().items():
        for name, policy in policies.items():
            if name not in known:
                raise TableError(f"{policy.location}: {device}: {name} is no operator of the table")


def policies(row: Row) -> str | None:
    """The row's policies as a C++ initializer; None where autocast leaves it alone."""
    chosen = []
    for table in lists().values():
        policy = table.get(row.name) or table.get(row.cpp_name)
        if policy == "float32_result" and row.schema.argument("dtype") is None:
            raise TableError(f"{policy.location}: float32_result, but {row.name} has no dtype=")
        chosen.append(policy)
    if not any(chosen):
        return None
    return "{" + ", ".join(f"autocast::Policy::{policy or 'none'}" for policy in chosen) + "}"


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
    call = f"{row.cpp_name}({', '.join(values)})"
    if "float32_inside" in chosen:
        call = f"cast.back({call}, {arguments[0].name}.dtype())"
    return [
        "  if (autocast::active()) [[unlikely]] {",
        f'    const autocast::Cast cast("{row.public_name.lstrip("_")}", {chosen}, {{{tensors}}}, {{{listed}}});',
        f"    if (cast.applies()) return {call};",
        "  }",
    ]
