"""A mistake in the table is named with its file and line, what it is, and what was wanted."""

import pytest
from codegen import __main__ as command
from small_tables import load_table, refusal, table

ADD = """
family: binary
ops:
- op: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  cpu: add_op
"""


def test_an_unknown_key_is_named_with_its_line_and_the_known_ones(tmp_path):
    text = refusal(tmp_path, binary=ADD + "  gard: {self: grad}\n")
    assert text.startswith("ops/binary.yaml:5: add.Tensor: unknown key 'gard'; known: op, family, module, ")


def test_a_key_of_another_family_is_told_from_a_misspelt_one(tmp_path):
    text = refusal(tmp_path, binary=ADD + "  infer: add\n")
    assert text.startswith("ops/binary.yaml:5: add.Tensor: family binary has no key 'infer'; known: op, ")


def test_a_rule_for_batches_must_be_a_known_word_or_a_function_of_the_area(tmp_path):
    text = refusal(tmp_path, binary=ADD + "  batch: elementwize\n")
    wanted = "elementwise, dims, leading, fold or a function of csrc/transforms/batch/binary.cpp"
    assert text == f"ops/binary.yaml:5: add.Tensor: batch: elementwize: wanted {wanted}"


def test_rows_made_of_others_have_no_rule_for_batches(tmp_path):
    text = refusal(tmp_path, other="ops:\n- op: f(Tensor self) -> Tensor\n  composite: f\n  batch: leading\n")
    assert text == "ops/other.yaml:4: f: batch: says nothing here: the parts of the row are run on batches"


def test_text_that_is_no_yaml_is_named_with_line_and_column(tmp_path):
    text = refusal(tmp_path, binary=ADD + "  grad: ]\n")
    assert text.startswith("ops/binary.yaml:5: column 9: not YAML: ")


def test_a_key_that_stands_twice_is_refused_at_the_second(tmp_path):
    text = refusal(tmp_path, binary=ADD + "  check: check_add\n  cpu: sub_op\n")
    assert text == "ops/binary.yaml:6: the key 'cpu' stands here twice"


def test_a_row_that_stands_twice_is_refused_with_both_places(tmp_path):
    again = "ops:\n- op: add.Tensor(Tensor self, Tensor other) -> Tensor\n  composite: add\n"
    text = refusal(tmp_path, binary=ADD, other=again)
    assert text == "ops/other.yaml:2: add.Tensor: add.Tensor is already defined at ops/binary.yaml:3"


def test_the_overload_that_a_row_stands_for_cannot_have_its_own_row(tmp_path):
    own = "- op: add.Scalar(Tensor self, Scalar other) -> Tensor\n  composite: add\n"
    text = refusal(tmp_path, binary=ADD + own)
    assert text == "ops/binary.yaml:5: add.Scalar: add.Scalar is already defined at ops/binary.yaml:3"


@pytest.mark.parametrize(
    "schema, problem",
    [
        (
            "f(Tensor self) Tensor",
            "f: schema 'f(Tensor self) Tensor': wanted name.overload(Type name, …) -> Type",
        ),
        ("f(Tensr self) -> Tensor", "f: argument 'self': unknown type 'Tensr'; known: Any, Device?, "),
        ("f(Tensor self, 3) -> Tensor", "f: argument '3': wanted a type and a name, such as int dim=-1"),
        ("f(Tensor self, int n=1.5) -> Tensor", "f: argument 'n': the default '1.5' is no int"),
        ("f(Tensor self, bool b=None) -> Tensor", "f: argument 'b': the default 'None' is no bool"),
        ("f(Tensor x, Tensor x) -> Tensor", "f: the name 'x' stands for two arguments or results"),
        (
            "f(Tensor self) -> int",
            "f: result 'int': wanted Tensor, Tensor[], (Tensor a, Tensor b), Any or ()",
        ),
        ("f(Tensor self) -> Any", "f: the result Any is for rows with call: or python:"),
        ("f(Tensor self) -> (Tensor a, int b)", "f: result 'b' is a int, wanted a Tensor"),
        (
            "f.a(Tensor self, Layout layout) -> Tensor",
            "f.a: argument 'layout': only a row with python: can have",
        ),
    ],
)
def test_a_schema_that_cannot_be_read_is_named_with_the_part_that_is_wrong(tmp_path, schema, problem):
    text = refusal(tmp_path, shape=f"# A comment.\nops:\n- op: {schema}\n  composite: f\n")
    assert text.startswith(f"ops/shape.yaml:3: {problem}")


@pytest.mark.parametrize(
    "formulas, problem",
    [
        ("othre: grad", "7: add.Tensor: grad for 'othre', which is no argument; known: self, other, alpha"),
        ("alpha: grad", "7: add.Tensor: grad for 'alpha', which is a Scalar"),
        ("self, other: f(grad)", "7: add.Tensor: grad for 'self' stands here twice"),
        (
            "other: grad * size.sizes()",
            "7: add.Tensor: the formula asks size.sizes(), but 'size' is no tensor",
        ),
        ("other:", "7: add.Tensor: grad for 'other' has no formula"),
    ],
)
def test_a_derivative_that_does_not_fit_its_schema_is_named_with_its_own_line(tmp_path, formulas, problem):
    text = refusal(tmp_path, binary=ADD + f"  grad:\n    self: grad\n    {formulas}\n")
    assert text.startswith(f"ops/binary.yaml:{problem}")


@pytest.mark.parametrize(
    "cell, problem",
    [
        (
            "aclnnAdd(self, othre, alpha, out)",
            "aclnnAdd is given 'othre', which is no argument, result or number; ",
        ),
        ("aclnnAdd(self, other, out)", "aclnnAdd takes 4 arguments (const aclTensor* self, "),
        ("aclnnAddd(self, other, alpha, out)", "abi/operators.json has no operator aclnnAddd"),
        ("aclnnAdd", "'aclnnAdd': wanted a call such as aclnnAdd(self, other, alpha, out)"),
        ("{composite: add}", "npu: wanted an ACLNN call, {kernel: name} or {substitute: name}"),
        ("{kernel: a, substitute: b}", "npu: wanted an ACLNN call, {kernel: name} or {substitute: name}"),
    ],
)
def test_a_cell_that_no_device_can_run_is_refused(tmp_path, cell, problem):
    text = refusal(tmp_path, binary=ADD + f"  npu: {cell}\n")
    assert text.startswith(f"ops/binary.yaml:5: add.Tensor: {problem}")


@pytest.mark.parametrize(
    "line, problem",
    [
        ("family: trinary", "unknown family 'trinary'; known: unary, predicate, binary, "),
        ("module: linlag", "unknown module 'linlag'; known: , linalg, fft, special, nn"),
        ("variants: [function, methods]", "unknown word 'methods' in variants; known: function, method, "),
        ("variants: function", "variants: wanted a list such as [function, method]"),
        ("dtype: same", "unknown dtype 'same'; known: promote, float"),
        ("special: __floor__", "unknown special '__floor__'; known: __add__, "),
        ("differentiable: no", "unknown differentiable 'no'; known: true, false"),
        ("check: [a]", "check: wanted one value"),
        (
            "out_dtype: {real: no}",
            "out_dtype: wanted one kind and its message; known: complex, floating, truth",
        ),
        ("grad: grad", "grad: wanted keys and their values"),
    ],
)
def test_a_wrong_word_is_named_with_the_right_ones(tmp_path, line, problem):
    text = refusal(tmp_path, binary=ADD + f"  {line}\n")
    assert text.startswith(f"ops/binary.yaml:5: add.Tensor: {problem}")


@pytest.mark.parametrize(
    "row, problem",
    [
        ("family: unary", "family unary wants cpu:"),
        ("family: kernel\n  cpu: f", "family kernel wants infer:"),
        ("family: kernel\n  infer: f", "family kernel wants either cpu: or any_device:"),
        (
            "family: kernel\n  infer: f\n  cpu: f\n  any_device: f",
            "family kernel wants either cpu: or any_device:",
        ),
        ("family: binary\n  cpu: f", "family binary wants two tensors first"),
        ("family: reduce\n  cpu: f", "family reduce wants Tensor self, int[1] dim, bool keepdim first"),
        ("family: inplace\n  cpu: f", "family inplace wants Tensor(a!) of one argument and of the result"),
        ("family: unary\n  cpu: f\n  dtype: scalar", "dtype scalar wants a Scalar among the arguments"),
        (
            "cpu: f",
            "wanted family: (unary, predicate, binary, compare, reduce, kernel, inplace, lists, sparse) or one of ",
        ),
        ("composite: f\n  python: f", "composite: names the family; python: another one"),
        (
            "python: index.f",
            "python: index.f: wanted the name alone, such as rot90, of a function of "
            "src/mindtorch_v2/_composed/shape.py",
        ),
        ("each: f(self)", "each: wants a list of tensors among the arguments"),
        ("call: f", "call: f: wanted a call such as to(self, other)"),
        ("call: f(1)", "call: says nothing of the argument 'self'"),
        (
            "python: f\n  variants: [function, out]\n  out_dtype: {truth: no}",
            "out_dtype: a kind is for rows that are written in C++",
        ),
    ],
)
def test_a_row_that_lacks_what_its_family_needs_is_refused(tmp_path, row, problem):
    text = refusal(tmp_path, shape=f"ops:\n- op: f(Tensor self) -> Tensor\n  {row}\n")
    assert text.partition(": ")[2].startswith(f"f: {problem}")


def test_a_default_that_native_code_would_not_get_is_for_rows_in_python(tmp_path):
    row = "- op: f(Tensor self, int[] dim=[0, 1]) -> Tensor\n  composite: f\n"
    text = refusal(tmp_path, shape="ops:\n" + row)
    assert text == "ops/shape.yaml:2: f: argument 'dim': a int[] with the default [0, 1] wants python:"


def test_a_key_of_a_file_that_is_not_for_all_rows_is_refused(tmp_path):
    text = refusal(tmp_path, shape="cpu: f\nops: []\n")
    assert text.startswith("ops/shape.yaml:1: unknown key 'cpu' of the file; known: ops, family, ")


def test_a_file_without_rows_is_refused(tmp_path):
    assert refusal(tmp_path, shape="family: unary\n") == "ops/shape.yaml:1: wanted a list under ops:"


def test_an_empty_file_is_refused(tmp_path):
    assert refusal(tmp_path, shape="# Nothing yet.\n") == "ops/shape.yaml:1: the file is empty"


def test_a_line_of_more_than_120_columns_is_refused(tmp_path):
    text = refusal(tmp_path, binary=ADD + "  # " + "x" * 117 + "\n")
    assert text.startswith("ops/binary.yaml:5: 121 columns, wanted at most 120: ")


def test_every_mistake_is_named_at_once(tmp_path):
    text = refusal(tmp_path, binary=ADD + "  gard: x\n- op: f\n", shape="ops: {}\n")
    assert [line.partition(": ")[0] for line in text.splitlines()] == [
        "ops/binary.yaml:5",
        "ops/binary.yaml:6",
        "ops/shape.yaml:1",
    ]


def test_the_command_says_only_what_is_wrong(tmp_path, monkeypatch):
    broken = table(tmp_path, binary=ADD + "  gard: x\n")
    monkeypatch.setattr(command, "load_table", lambda: load_table(broken))
    monkeypatch.setattr("sys.argv", ["codegen", "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit, match=r"^ops/binary\.yaml:5: add\.Tensor: unknown key 'gard'"):
        command.main()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "row, problem",
    [
        (
            "  jvp: elementwize\n",
            "5: add.Tensor: unknown jvp 'elementwize'; known: elementwise, reduction, linear, ",
        ),
        (
            "  jvp: elementwise\n",
            "5: add.Tensor: jvp: elementwise is made of grad:, which the row does not have",
        ),
        (
            "  grad: {self: grad}\n  jvp: reduction\n",
            "6: add.Tensor: jvp: reduction wants dim and keepdim among the arguments",
        ),
        (
            "  jvp: alpha_tangent * 2\n",
            "5: add.Tensor: the formula asks for alpha_tangent, but 'alpha' is no tensor argument",
        ),
        (
            "  jvp:\n    alpha: self\n",
            "6: add.Tensor: jvp for 'alpha', which is no tensor argument; known: self, ",
        ),
        (
            "  jvp:\n    self: other_tangent\n",
            "6: add.Tensor: the term of 'self' asks for other_tangent: that belongs to the term of 'other'",
        ),
    ],
)
def test_a_rule_for_tangents_that_cannot_be_is_named(tmp_path, row, problem):
    assert refusal(tmp_path, binary=ADD + row).startswith(f"ops/binary.yaml:{problem}")


def test_a_rule_for_tangents_names_results_where_there_are_several(tmp_path):
    text = refusal(
        tmp_path,
        sort="""
ops:
- op: f(Tensor self) -> (Tensor values, Tensor indices)
  family: kernel
  infer: f
  cpu: f
  jvp:
    others: self_tangent
""",
    )
    assert text == "ops/sort.yaml:7: f: jvp for 'others', which is no result; known: values, indices"
