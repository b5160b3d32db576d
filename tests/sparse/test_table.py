"""The table of what operators do with sparse tensors."""

import mindtorch_v2 as torch
from mindtorch_v2._sparse import table


def test_every_name_of_the_table_is_an_operator():
    known = set()
    for qualified, overload, _ in torch._C._dispatch.operators():
        name = qualified.removeprefix("aten::")
        known |= {name, f"{name}.{overload}"}
    assert [name for name in table._filled() if name not in known] == []


def test_every_row_that_only_sparse_tensors_have_is_in_the_table():
    rows = [name for name, overload, _ in torch._C._dispatch.operators() if "sparse" in name and not overload]
    missing = [name for name in rows if name.removeprefix("aten::") not in table._filled()]
    assert missing == []
