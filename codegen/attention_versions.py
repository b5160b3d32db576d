"""The versions of the software NPU's fused attention operators. They differ in which arguments they have and where, not
in what these mean: a table says which argument of the common function a parameter of the ABI is, by its name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# A parameter: its type and its name.
Parameter = tuple[str, str]


@dataclass(frozen=True)
class Versions:
    operators: str  # a pattern for their names
    function: str
    # Fields of the function's structure, in its order -> the names of the parameter; without "Optional" at their end.
    arguments: dict[str, str]
    refused: str  # parameters that must be absent
    ignored: str  # parameters that change nothing here
    results: tuple[str, ...] = ()  # further arguments of the function; null where a version lacks them
    constants: dict[str, str] = field(default_factory=dict)

    def field_of(self, name: str) -> str | None:
        name = name.removesuffix("Optional")
        return next((a for a, names in self.arguments.items() if name in names.split()), None)

    def is_refused(self, name: str) -> bool:
        return name.removesuffix("Optional") in self.refused.split()

    def is_ignored(self, name: str) -> bool:
        return name.removesuffix("Optional") in self.ignored.split()


_SCORE = {
    "query": "query",
    "key": "key keyIn",
    "value": "value",
    "bias": "realShift pseShift",
    "drop": "dropMask",
    "padding": "paddingMask",
    "mask": "attenMask",
    "grad": "dy",
    "max": "softmaxMax",
    "sum": "softmaxSum",
    "softmax": "softmaxIn",
    "out": "attentionIn",
    "sink": "sink sinkIn",
    "query_lengths": "actualSeqQLen",
    "key_lengths": "actualSeqKvLen",
    "query_start": "qStartIdx",
    "key_start": "kvStartIdx",
    "scale": "scaleValue",
    "keep": "keepProb",
    "before": "preTokens",
    "after": "nextTokens",
    "heads": "headNum",
    "layout": "inputLayout",
    "sparse_mode": "sparseMode",
    "bias_type": "pseType",
}
_SCORE_REFUSED = "queryRope keyRope keyInRope dScaleQ dScaleK dScaleV dScaleDy dScaleO"
_SCORE_IGNORED = (
    "prefix innerPrecise softmaxInLayout softmaxOutLayout seed offset outDtype dqRopeOut dkRopeOut"
)

_INFER = {
    "query": "query",
    "key": "key",
    "value": "value",
    "bias": "pseShift",
    "mask": "attenMask",
    "query_lengths": "actualSeqLengths",
    "key_lengths": "actualSeqLengthsKv",
    "block_table": "blockTable blocktable",
    "query_rope": "queryRope",
    "key_rope": "keyRope",
    "sink": "learnableSink",
    "heads": "numHeads",
    "scale": "scaleValue",
    "before": "preTokens",
    "after": "nextTokens",
    "layout": "inputLayout",
    "groups": "numKeyValueHeads",
    "sparse_mode": "sparseMode",
    "block_size": "blockSize",
    "wants_logsumexp": "softmaxLseFlag",
    "out": "attentionOut",
    "logsumexp": "softmaxLse",
}
_INFER_LISTS = {{"key": "keys", "value": "values"}.get(name, name): names for name, names in _INFER.items()}
_INFER_REFUSED = (
    "deqScale1 deqScale2 dequantScale1 dequantScale2 dequantScaleQuery quantScale1 quantScale2 quantOffset2 "
    "antiquantScale antiquantOffset keyAntiquantScale keyAntiquantOffset valueAntiquantScale valueAntiquantOffset "
    "queryPaddingSize kvPaddingSize keySharedPrefix valueSharedPrefix keyRopeAntiquantScale"
)
_INFER_IGNORED = (
    "innerPrecise antiquantMode keyAntiquantMode valueAntiquantMode queryQuantMode actualSharedPrefixLen qStartIdx "
    "kvStartIdx pseType"
)

VERSIONS = (
    Versions(
        r"aclnnFlashAttention(VarLen)?Score(V\d)?",
        "attention_score",
        _SCORE,
        _SCORE_REFUSED,
        _SCORE_IGNORED,
        results=("softmaxMaxOut", "softmaxSumOut", "softmaxOutOut", "attentionOutOut"),
    ),
    Versions(
        r"aclnnFlashAttention(Unpadding)?ScoreGrad(V\d)?",
        "attention_score_backward",
        _SCORE,
        _SCORE_REFUSED,
        _SCORE_IGNORED,
        results=("dqOut", "dkOut", "dvOut", "dpseOut", "dsinkOut"),
    ),
    Versions(r"aclnnPromptFlashAttention(V\d)?", "infer_attention", _INFER, _INFER_REFUSED, _INFER_IGNORED),
    Versions(
        r"aclnnFusedInferAttentionScore(V\d)?",
        "infer_attention",
        _INFER_LISTS,
        _INFER_REFUSED,
        _INFER_IGNORED,
    ),
    # One query: its lengths are the keys', and a mask of two dimensions is [B, S].
    Versions(
        r"aclnnIncreFlashAttention(V\d)?",
        "infer_attention",
        {**_INFER_LISTS, "query_lengths": "", "key_lengths": "actualSeqLengths"},
        _INFER_REFUSED,
        _INFER_IGNORED,
        constants={"mask_by_batch": "true"},
    ),
)


def planning_function(versions: Versions, operator: str, parameters: list[Parameter]) -> Iterator[str]:
    given = {versions.field_of(name): name for _, name in parameters if versions.field_of(name)}
    refused = [name for _, name in parameters if versions.is_refused(name)]
    used = {*given.values(), *refused, *versions.results}
    for _, name in parameters:
        if name not in used and not versions.is_ignored(name):
            raise ValueError(f"{operator}: nothing says what its parameter {name!r} is; see {__file__}")
    arguments = [f".{name} = {given[name]}" for name in versions.arguments if name in given]
    arguments += [f".{name} = {value}" for name, value in versions.constants.items()]
    if refused:
        arguments.append(".refused = refused")
    declared = ", ".join(f"{kind} {name}" if name in used else kind for kind, name in parameters)
    names = {name for _, name in parameters}
    results = "".join(f", {name if name in names else 'nullptr'}" for name in versions.results)
    yield f"void {operator.removeprefix('aclnn')}(Plan& plan, {declared}) {{"
    if refused:
        yield f"  const std::initializer_list<const aclTensor*> refused = {{{', '.join(refused)}}};"
    yield f"  {versions.function}(plan, {{{', '.join(arguments)}}}{results});"
    yield "}"


def generate(operators: dict[str, list[Parameter]]) -> str:
    lines = [
        "// GENERATED by codegen/attention_versions.py: the versions of the fused attention operators.",
        '#include "op_plans.h"',
        '#include "ops/attention/flash.h"',
        '#include "ops/attention/infer.h"',
        "",
        "namespace softnpu::ops {",
        "",
    ]
    for versions in VERSIONS:
        for operator, parameters in operators.items():
            if re.fullmatch(versions.operators, operator):
                lines += planning_function(versions, operator, parameters)
    return "\n".join([*lines, "", "}  // namespace softnpu::ops", ""])
