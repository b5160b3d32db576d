"""The generated versions of the software NPU's fused attention operators."""

import pytest
from codegen import attention_versions, softnpu


def operators():
    table = softnpu.load("operators")["two_phase"]
    return {name: [softnpu.split_param(param) for param in params] for name, params in table.items()}


def test_every_version_of_an_attention_operator_gets_a_function():
    text = attention_versions.generate(operators())
    for name in operators():
        if name.startswith(("aclnnFlashAttention", "aclnnFusedInfer", "aclnnIncreFlash", "aclnnPromptFlash")):
            assert text.count(f"\nvoid {name.removeprefix('aclnn')}(Plan& plan, ") == 1, name


def test_arguments_go_by_their_names_and_what_a_version_lacks_is_null():
    (made,) = attention_versions.generate(
        {
            "aclnnFlashAttentionScoreGradV9": [
                ("const aclTensor*", "queryRope"),
                ("const aclTensor*", "keyIn"),
                ("int64_t", "innerPrecise"),
                ("const aclTensor*", "dqOut"),
            ]
        }
    ).split("namespace softnpu::ops {")[1:]
    assert (
        "(Plan& plan, const aclTensor* queryRope, const aclTensor* keyIn, int64_t, const aclTensor* dqOut)"
        in made
    )
    assert "refused = {queryRope};" in made
    assert "(plan, {.key = keyIn, .refused = refused}, dqOut, nullptr, nullptr, nullptr, nullptr);" in made


def test_a_parameter_that_the_table_does_not_know_is_refused():
    with pytest.raises(
        ValueError, match="aclnnPromptFlashAttentionV9: nothing says what its parameter 'novelty'"
    ):
        attention_versions.generate({"aclnnPromptFlashAttentionV9": [("const aclTensor*", "novelty")]})
