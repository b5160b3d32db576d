"""Schema types in C++: how arguments are passed, kept by autograd nodes, and defaulted."""

from __future__ import annotations

from .schema import Argument, Schema

_PARAMETER = {
    "Tensor": "const Tensor&",
    "Tensor?": "const Tensor&",
    "Tensor[]": "TensorList",
    "Tensor?[]": "TensorList",
    "Scalar": "const Scalar&",
    "Scalar?": "const std::optional<Scalar>&",
    "Scalar[]": "std::span<const Scalar>",
    "int": "int64_t",
    "int?": "std::optional<int64_t>",
    "float": "double",
    "float?": "std::optional<double>",
    "float[]": "std::span<const double>",
    "float[]?": "const std::optional<std::vector<double>>&",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "str": "std::string_view",
    "str?": "std::optional<std::string_view>",
    "int[]": "IntList",
    "int[]?": "const OptionalInts&",
    "int[N]": "IntList",
    "int[N]?": "const OptionalInts&",
    "int[1]": "const DimList&",
    "int[1]?": "const DimList&",
    "ScalarType": "DType",
    "ScalarType?": "std::optional<DType>",
    "Device?": "std::optional<Device>",
    "MemoryFormat": "std::optional<MemoryFormat>",
    "MemoryFormat?": "std::optional<MemoryFormat>",
    "Generator?": "Generator*",
}
_KEPT = {
    "IntList": "Dims",
    "const Scalar&": "Scalar",
    "const DimList&": "DimList",
    "std::string_view": "std::string",
    "std::optional<std::string_view>": "std::optional<std::string>",
    "std::span<const double>": "std::vector<double>",
}


def parameter_type(argument: Argument) -> str:
    return _PARAMETER[argument.kind]


def kept_type(argument: Argument) -> str:
    """The type in which a node keeps a non-tensor argument."""
    passed = parameter_type(argument)
    return _KEPT.get(passed, passed.removeprefix("const ").removesuffix("&"))


def default_value(argument: Argument) -> str | None:
    text = argument.default
    if text is None:
        return None
    if text == "None":
        return {"Tensor?": "Tensor()", "Generator?": "nullptr", "int[1]?": "DimList()"}.get(
            argument.type, "std::nullopt"
        )
    if text == "[]":
        return {"int[1]": "DimList()", "float[]": "std::span<const double>()"}.get(argument.type, "IntList()")
    if argument.list_length:
        numbers = text.strip("[]") if text.startswith("[") else ", ".join([text] * argument.list_length)
        return f"DimList(Dims{{{numbers}}})" if argument.list_length == 1 else f"Dims{{{numbers}}}"
    if argument.type in ("str", "str?"):
        return '"' + text.strip("\"'") + '"'
    if text == "contiguous_format":
        return "MemoryFormat::contiguous"
    if argument.type == "Scalar":
        return f"Scalar({text})"
    return {"True": "true", "False": "false"}.get(text, text)


def parameter(argument: Argument, with_default: bool) -> str:
    default = default_value(argument) if with_default else None
    return f"{parameter_type(argument)} {argument.name}" + (f" = {default}" if default is not None else "")


def parameters(schema: Schema, *, defaults: bool = False, extra: tuple[str, ...] = ()) -> str:
    """The parameter list; C++ wants defaults only at the end, so earlier ones are left out."""
    arguments = schema.arguments
    first_default = len(arguments)
    while first_default and default_value(arguments[first_default - 1]) is not None:
        first_default -= 1
    parts = [parameter(a, defaults and i >= first_default) for i, a in enumerate(arguments)]
    return ", ".join([*parts, *extra])


def return_type(schema: Schema) -> str:
    if not schema.returns:
        return "void"
    if schema.returns[0].type == "Tensor[]":
        return "std::vector<Tensor>"
    if len(schema.returns) == 1:
        return "Tensor"
    return "std::tuple<" + ", ".join(["Tensor"] * len(schema.returns)) + ">"


def kernel_parameters(schema: Schema, with_outputs: bool) -> str:
    outs = tuple(
        f"TensorList {r.name}" if r.type == "Tensor[]" else f"const Tensor& {r.name}" for r in schema.returns
    )
    outs = outs if with_outputs else ()
    return parameters(schema, extra=outs)
