"""The ACLNN operators by name, as C++."""

import pytest
from codegen import aclnn_table
from codegen.reader import TableError


def test_a_row_has_the_operators_kinds_and_names_in_order():
    text = aclnn_table.source({"aclnnOdd": ["const aclTensor* self", "const int64_t dim", "char* mode"]})
    row = 'row<decltype(aclnnOddGetWorkspaceSize), tensor, int64, text>("aclnnOdd", "self dim mode"),'
    assert row in text


def test_rows_are_sorted_so_that_they_can_be_found():
    text = aclnn_table.source({"aclnnTan": ["aclTensor* out"], "aclnnAbs": ["aclTensor* out"]})
    assert text.index("aclnnAbsGetWorkspaceSize") < text.index("aclnnTanGetWorkspaceSize")


def test_a_parameter_of_an_unknown_type_is_refused_with_the_known_ones():
    with pytest.raises(
        TableError, match=r"aclnnOdd takes 'float\* where', but calls by name know only aclTensor"
    ):
        aclnn_table.source({"aclnnOdd": ["const aclTensor* self", "float* where"]})
