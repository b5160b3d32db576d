"""The operator table: ops/*.yaml, one row per operator. ops/README.md explains the grammar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import batch, bindings, number_slots, tags
from .cells import read_formulas
from .families import FAMILIES, OWN_KEY
from .forward import read_forward
from .reader import ROOT, Entry, TableError, read
from .row import MODULES, OUT_DTYPES, OUT_KINDS, VARIANTS, Row
from .schema import Schema, SchemaError, parse_schema

# What a file may say for all of its rows; it holds for those whose family takes the key.
_FILE_KEYS = ("ops", "family", "module", "variants", "dtype", "factory")


def _schema(entry: Entry) -> Schema:
    text = entry.text("op")
    if text is None:
        entry.fail("the row has no op:")
    try:
        schema = parse_schema(text)
    except SchemaError as error:
        entry.name = str(text).partition("(")[0]
        entry.fail(str(error), text)
    entry.name = schema.full_name
    return schema


def _family(entry: Entry, head: Entry) -> type[Row]:
    """From the key that only one family has, else from `family:` of the row or of the file."""
    own = [key for key in OWN_KEY if key in entry]
    if own:
        if len(own) > 1 or "family" in entry:
            entry.fail(
                f"{own[0]}: names the family; {' and '.join(own[1:]) or 'family'}: another one", own[0]
            )
        return OWN_KEY[own[0]]
    where = entry if "family" in entry else head
    name = where.word("family", tuple(FAMILIES))
    if not name:
        entry.fail(f"wanted family: ({', '.join(FAMILIES)}) or one of the keys {', '.join(OWN_KEY)}")
    return FAMILIES[name]


def _check_keys(entry: Entry, family: type[Row]) -> None:
    name, known = family.family, family.keys()
    for key in entry:
        if key not in known:
            elsewhere = any(key in other.keys() for other in (*FAMILIES.values(), *OWN_KEY.values()))
            problem = f"family {name} has no key {key!r}" if elsewhere else f"unknown key {key!r}"
            entry.fail(f"{problem}; known: {', '.join(known)}", key)
    for wanted in family.required:
        if not entry.text(wanted):
            entry.fail(f"family {name} wants {wanted}:")
    if family.one_of and sum(key in entry for key in family.one_of) != 1:
        entry.fail(f"family {name} wants either {' or '.join(f'{key}:' for key in family.one_of)}")


def _check_native(entry: Entry, schema: Schema) -> None:
    """What only operators composed in Python can do with their arguments."""
    for a in schema.arguments:
        if not a.type.cpp:
            entry.fail(f"argument {a.name!r}: only a row with python: can have a {a.type}", "op")
        if a.default and not a.type.falls_back_to(a.default):
            entry.fail(f"argument {a.name!r}: a {a.type} with the default {a.default} wants python:", "op")


def _out_dtype(entry: Entry) -> dict[str, str]:
    """What an out= may be: of the result's dtype, or of a kind of dtypes; and what is said of any other."""
    if not entry.is_mapping("out_dtype"):
        text = entry.text("out_dtype") or ""
        return {"out_dtype": OUT_DTYPES.get(text, text)}
    each = entry.entry("out_dtype")
    kinds = list(each)
    if len(kinds) != 1 or kinds[0] not in OUT_KINDS:
        entry.fail(f"out_dtype: wanted one kind and its message; known: {', '.join(OUT_KINDS)}", "out_dtype")
    return {"out_kind": str(kinds[0]), "out_dtype": str(each.text(kinds[0]))}


def _seen_as(entry: Entry) -> dict[str, str]:
    """What handlers see: of the function, or of the variants that are named."""
    if not entry.is_mapping("seen_as"):
        whole = entry.text("seen_as")
        found = {} if whole is None else {"function": str(whole)}
    else:
        each = entry.entry("seen_as")
        for key in each:
            if key not in ("function", "inplace", "out"):
                each.fail(f"seen_as: unknown variant {key!r}; known: function, inplace, out", key)
        found = {str(key): str(each.text(key)) for key in each}
    for text in found.values():
        try:
            compile(text, "seen_as", "eval")
        except SyntaxError as error:
            entry.fail(f"seen_as: {text!r} is no expression of Python: {error.msg}", "seen_as")
    return found


def _rows(entry: Entry, head: Entry) -> Iterator[Row]:
    schema = _schema(entry)
    family = _family(entry, head)
    _check_keys(entry, family)
    if family.in_cpp:
        _check_native(entry, schema)
    family.check(entry, schema)
    entry = entry.over(head, family.keys())
    module = entry.word("module", ("", *MODULES))
    formulas = read_formulas(entry, schema)
    common: dict[str, Any] = {
        "schema": schema,
        "location": entry.location,
        "area": entry.area,
        "module": module,
        "variants": entry.words("variants", VARIANTS)
        or (family.module_variants if module else family.default_variants),
        "aliases": entry.words("aliases"),
        "special": entry.word("special", number_slots.SPECIALS) or None,
        "number_as_tensor": entry.flag("number_as_tensor"),
        "formulas": formulas,
        **_out_dtype(entry),
        "seen_as": _seen_as(entry),
        "batch": batch.read(entry, family),
        "tags": entry.words("tags", tags.TAGS),
    }
    if "differentiable" in entry:
        common["differentiable"] = entry.flag("differentiable")
    if common.get("differentiable", True):
        common["forward"] = read_forward(entry, schema, formulas, family.default_forward)
    row = family(**common, **family.part(entry, schema))
    if row.out_dtype and "out" not in row.variants:
        entry.fail("out_dtype: is for rows with out among their variants", "out_dtype")
    if row.out_kind and not family.in_cpp:
        entry.fail("out_dtype: a kind is for rows that are written in C++", "out_dtype")
    bindings.check(row, entry)
    yield row
    twin = row.variant_of_number(entry)
    if twin:
        yield twin


_OTHER_NODES = {"copy_": "CopyBackwards"}  # names that PyTorch's rule does not give


def _with_nodes(rows: list[Row]) -> list[Row]:
    """PyTorch's names of nodes: AddBackward0 for the first overload of add, AddBackward1 for the next. The overload
    with a number has its tensor twin's name, because PyTorch makes a tensor of the number."""
    counts: Counter[str] = Counter()
    named = []
    for row in rows:
        if row.formulas:
            base = "".join(part.capitalize() for part in row.cpp_name.strip("_").split("_"))
            counts[base] -= row.scalar_variant
            name = _OTHER_NODES.get(row.schema.name, f"{base}Backward{counts[base]}")
            row = replace(row, node=name)
            counts[base] += 1
        named.append(row)
    return named


def load_table(folder: Path = ROOT / "ops") -> list[Row]:
    """Every row, or one error that lists all that is wrong."""
    rows: dict[str, Row] = {}
    problems: list[str] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            head = read(path)
            for key in head:
                if key not in _FILE_KEYS:
                    head.fail(f"unknown key {key!r} of the file; known: {', '.join(_FILE_KEYS)}", key)
            entries = head.entries("ops")
        except TableError as error:
            problems.append(str(error))
            continue
        for entry in entries:
            try:
                for row in _rows(entry, head):
                    before = rows.setdefault(row.name, row)
                    if before is not row:
                        entry.fail(f"{row.name} is already defined at {before.location}")
            except TableError as error:
                problems.append(str(error))
    if problems:
        raise TableError("\n".join(problems))
    return _with_nodes(list(rows.values()))
