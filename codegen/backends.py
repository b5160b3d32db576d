"""Cells of the table as kernels: the CPU's functors and functions, the NPU's ACLNN calls, and the explicit
instantiations of the elementwise templates that both the CPU and the software NPU link."""

from __future__ import annotations

import functools
import json

from .cpp_types import kernel_parameters, parameters, return_type
from .dispatch import BANNER, has_table, rule, writes_in_place
from .table import ROOT, Composition, Row, VendorCall, stems

_SIGNATURES = {
    "unary": "(const View&, const View&, const Scalar*)",
    "predicate": "(const View&, const View&)",
    "binary": "(const View&, const View&, const View&, DType, const Scalar*)",
    "compare": "(const View&, const View&, const View&, DType)",
    "reduce": "(const View&, const View&)",
}


def kernel_instantiations(rows: list[Row], family: str) -> str:
    functors = sorted({r.cpu for r in rows if r.family == family and r.cpu})
    header = "reduce_impl.h" if family == "reduce" else "elementwise_impl.h"
    return "\n".join([
        BANNER,
        '#include "kernels/functors.h"',
        f'#include "kernels/{header}"\n',
        "namespace mt::kernels {\n",
        *[f"template void {family}<{functor}>{_SIGNATURES[family]};" for functor in functors],
        "\n}  // namespace mt::kernels",
        "",
    ])  # fmt: skip


def register_all(rows: list[Row], device: str) -> str:
    """The function that fills the device's cells, file by file."""
    return "\n".join([
        BANNER,
        f'#include "generated/{device}/kernels.h"\n',
        f"namespace mt::{device} {{\n",
        f"void register_{device}_kernels() {{",
        *[f"  register_{stem}_kernels();" for stem in stems(rows)],
        "}\n",
        f"}}  // namespace mt::{device}",
        "",
    ])  # fmt: skip


def _parameters(row: Row) -> str:
    return kernel_parameters(row.schema, not writes_in_place(row))


def _unused_allowed(row: Row) -> str:
    """The parameter list of a cell, which need not read every argument (keepdim is in out's shape)."""
    return "[[maybe_unused]] " + _parameters(row).replace(", ", ", [[maybe_unused]] ")


def _cpu_body(row: Row) -> str:
    arguments = row.schema.arguments
    numbers = [a.name for a in arguments if a.type == "Scalar"]
    if row.scalar_variant:
        numbers = numbers[1:]
    several = len(numbers) > 1
    scalars = f"  const Scalar params[] = {{{', '.join(numbers)}}};\n" if several else ""
    params = "params" if several else f"&{numbers[0]}" if numbers else "nullptr"
    first = arguments[0].name
    if row.family == "unary":
        return f"{scalars}  kernels::unary<kernels::{row.cpu}>(view(self), view(out), {params});"
    if row.family == "predicate":
        return f"  kernels::predicate<kernels::{row.cpu}>(view(self), view(out));"
    if row.family in ("binary", "compare"):
        second = arguments[1].name
        compute = f"infer::compute_type({first}, {second}, {rule(row)})"
        tail = f", {params}" if row.family == "binary" else ""
        if row.scalar_variant:
            return (
                f"{scalars}  const DType compute = {compute};\n"
                f"  const NumberView number({second}, number_dtype(compute));\n"
                f"  kernels::{row.family}<kernels::{row.cpu}>"
                f"(view({first}), number.view, view(out), compute{tail});"
            )
        return (
            f"{scalars}  kernels::{row.family}<kernels::{row.cpu}>(view({first}), view({second}), view(out), "
            f"{compute}{tail});"
        )
    if row.family == "reduce":
        return f"  reduce_over(kernels::reduce<kernels::{row.cpu}>, self, dim, out);"
    names = [a.name for a in arguments] + (
        [] if writes_in_place(row) else [r.name for r in row.schema.returns]
    )
    return f"  cpu::{row.cpu}({', '.join(names)});"


def cpu_header(rows: list[Row]) -> str:
    by_hand = sorted({
        f"void {r.cpu}({_parameters(r)});"
        for r in rows
        if has_table(r) and r.cpu and r.family in ("kernel", "inplace", "lists")
    })  # fmt: skip
    return "\n".join([
        BANNER + "#pragma once\n",
        '#include "core/dispatch.h"',
        '#include "core/generator.h"\n',
        "// Written by hand in csrc/backends/cpu/.",
        "namespace mt::cpu {\n",
        *by_hand,
        "\nvoid register_cpu_kernels();  // calls those of the files",
        *[f"void register_{stem}_kernels();" for stem in stems(rows)],
        "\n}  // namespace mt::cpu",
        "",
    ])  # fmt: skip


def cpu_source(rows: list[Row], stem: str) -> str:
    rows = [r for r in rows if has_table(r) and r.cpu]
    functions = []
    for r in rows:
        work = "out" if not writes_in_place(r) else r.target
        if r.family == "lists":
            functions.append(f"void run_{r.id}({_unused_allowed(r)}) {{\n{_cpu_body(r)}\n}}\n")
            continue
        if not writes_in_place(r):
            work = r.schema.returns[0].name
        inputs = [a.name for a in r.schema.arguments if a.type == "Tensor"]
        size = f"{inputs[0]}.numel()" if r.family == "reduce" and inputs else f"{work}.numel()"
        functions.append(
            f"void run_{r.id}({_unused_allowed(r)}) {{\n  HostWork work({size});\n{_cpu_body(r)}\n}}\n"
        )
    return "\n".join([
        BANNER,
        '#include "backends/cpu/view.h"',
        '#include "core/host_lock.h"',
        '#include "generated/cpu/kernels.h"',
        f'#include "generated/ops/{stem}_tables.h"',
        '#include "infer/infer.h"',
        '#include "kernels/elementwise.h"',
        '#include "kernels/functors.h"',
        '#include "kernels/reduce.h"\n',
        "namespace mt::cpu {",
        "namespace {\n",
        *functions,
        "}  // namespace\n",
        f"void register_{stem}_kernels() {{",
        *[f"  table::{r.id}.cell[int(DeviceType::cpu)] = run_{r.id};" for r in rows],
        "}\n",
        "}  // namespace mt::cpu",
        "",
    ])  # fmt: skip


def _npu_arguments(row: Row, call: VendorCall) -> str:
    names = {a.name: a for a in row.schema.arguments}
    out = []
    for text in call.arguments:
        if text.endswith(".dtype"):
            out.append(f"{text.removesuffix('.dtype')}.dtype()")
        elif row.family == "reduce" and text == "dim":
            out.append("aclnn::dims(dim, self.dim())")
        elif text in names or text.lstrip("-").isdigit() or text in [r.name for r in row.schema.returns]:
            out.append(text)
        else:
            raise ValueError(
                f"{row.source}: {call.function} is given {text!r}, which is no argument, result or number"
            )
    return ", ".join(out)


@functools.cache
def _operators() -> dict[str, list[str]]:
    """ACLNN operators and their parameters ("const aclTensor* self"), without the two that all of them have."""
    operators: dict[str, list[str]] = json.loads((ROOT / "softnpu/abi/operators.json").read_text())[
        "two_phase"
    ]
    return operators


def _inplace_call(row: Row, call: VendorCall) -> VendorCall | None:
    """The vendor's operator that writes over its first tensor, if it takes the rest as the other one does. It
    wants one descriptor less."""
    name = call.function.replace("aclnn", "aclnnInplace", 1)
    kinds = [parameter.rpartition(" ")[0] for parameter in _operators()[call.function]]
    if "inplace" not in row.variants or call.arguments[0] != "self" or call.arguments[-1] != "out":
        return None
    own = [parameter.rpartition(" ")[0] for parameter in _operators().get(name, [])]
    return VendorCall(name, call.arguments[:-1]) if own[1:] == kinds[1:-1] and own else None


def _vendor_lines(row: Row, call: VendorCall, target: str) -> list[str]:
    return [
        f'static aclnn::Function<decltype({call.function}GetWorkspaceSize)> f("{call.function}");',
        f"return aclnn::call(f, {target}.device(), {_npu_arguments(row, call)});",
    ]


def _npu_body(row: Row) -> str:
    target = row.target if writes_in_place(row) else row.schema.returns[0].name
    if row.family in ("foreach", "lists"):
        target = "self[0]"
    if isinstance(row.npu, str):
        names = [a.name for a in row.schema.arguments] + (
            [] if writes_in_place(row) else [r.name for r in row.schema.returns]
        )
        return f"  npu::{row.npu}({', '.join(names)});"
    assert isinstance(row.npu, VendorCall)
    lines = _vendor_lines(row, row.npu, target)
    inplace = _inplace_call(row, row.npu)
    if inplace:
        over = "\n".join(f"    {line}" for line in _vendor_lines(row, inplace, target))
        lines.insert(0, f"if (out.same(self)) {{\n{over}\n  }}")
    return "\n".join(f"  {line}" for line in lines)


def npu_header(rows: list[Row]) -> str:
    by_hand = sorted({f"void {r.npu}({_parameters(r)});" for r in rows if isinstance(r.npu, str)})
    return "\n".join([
        BANNER + "#pragma once\n",
        '#include "core/dispatch.h"',
        '#include "core/generator.h"\n',
        "// Written by hand in csrc/backends/npu/.",
        "namespace mt::npu {\n",
        *by_hand,
        "\nvoid register_npu_kernels();  // calls those of the files",
        *[f"void register_{stem}_kernels();" for stem in stems(rows)],
        "\n}  // namespace mt::npu",
        "",
    ])  # fmt: skip


def npu_source(rows: list[Row], stem: str) -> str:
    rows = [r for r in rows if has_table(r) and r.npu and not isinstance(r.npu, Composition)]
    functions = [f"void run_{r.id}({_unused_allowed(r)}) {{\n{_npu_body(r)}\n}}\n" for r in rows]
    return "\n".join([
        BANNER,
        '#include "backends/npu/aclnn_call.h"',
        '#include "generated/npu/kernels.h"',
        f'#include "generated/ops/{stem}_tables.h"\n',
        "namespace mt::npu {",
        "namespace {\n",
        *functions,
        "}  // namespace\n",
        f"void register_{stem}_kernels() {{",
        *[f"  table::{r.id}.cell[int(DeviceType::npu)] = run_{r.id};" for r in rows],
        "}\n",
        "}  // namespace mt::npu",
        "",
    ])  # fmt: skip


def _composed(rows: list[Row]) -> list[tuple[Row, str]]:
    """The rows whose cell is made of other operators, with the function that makes it."""
    return [(r, r.npu.function) for r in rows if has_table(r) and isinstance(r.npu, Composition)]


def compositions_header(rows: list[Row]) -> str:
    declarations = sorted({
        f"{'void' if writes_in_place(r) else return_type(r.schema)} {function}({parameters(r.schema)});"
        for r, function in _composed(rows)
    })  # fmt: skip
    return "\n".join([
        BANNER + "#pragma once\n",
        '#include "core/dispatch.h"',
        '#include "core/generator.h"\n',
        "// Cells made of other operators, written by hand in csrc/autograd/composition_*.cpp.",
        "namespace mt::composition {\n",
        *declarations,
        "\nvoid register_compositions();",
        "\n}  // namespace mt::composition",
        "",
    ])  # fmt: skip


def _composition_body(row: Row, function: str) -> str:
    call = f"{function}({', '.join(a.name for a in row.schema.arguments)})"
    if writes_in_place(row):
        return f"  {call};"
    names = [r.name for r in row.schema.returns]
    if len(names) == 1:
        return f"  copy_between({call}, {names[0]}, false);"
    made = [f"made_{name}" for name in names]
    copies = [f"  copy_between({m}, {name}, false);" for m, name in zip(made, names, strict=True)]
    return "\n".join([f"  const auto [{', '.join(made)}] = {call};", *copies])


def compositions_source(rows: list[Row]) -> str:
    composed = _composed(rows)
    functions = [
        f"void run_{r.id}({_parameters(r)}) {{\n  const autograd::WithoutHistory guard;\n"
        f"{_composition_body(r, function)}\n}}\n"
        for r, function in composed
    ]
    return "\n".join([
        BANNER,
        '#include "autograd/without_history.h"',
        '#include "generated/ops/compositions.h"',
        *[f'#include "generated/ops/{stem}_tables.h"' for stem in stems([r for r, _ in composed])],
        "\nnamespace mt::composition {",
        "namespace {\n",
        *functions,
        "}  // namespace\n",
        "void register_compositions() {",
        *[f"  table::{r.id}.cell[int(DeviceType::npu)] = run_{r.id};" for r, _ in composed],
        "}\n",
        "}  // namespace mt::composition",
        "",
    ])  # fmt: skip
