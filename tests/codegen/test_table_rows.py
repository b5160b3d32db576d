"""What the generator reads out of rows: families, types, limits."""

from pathlib import Path

import pytest
from codegen import bindings, infer, schema_types
from codegen.__main__ import outputs
from codegen.cells import HandWritten, Substitute, VendorCall
from small_tables import load_table, refusal, rows

ROOT = Path(__file__).resolve().parents[2]


def test_every_row_knows_the_line_where_it_stands():
    lines = {path.stem: path.read_text().splitlines() for path in (ROOT / "ops").glob("*.yaml")}
    for row in load_table():
        if row.scalar_variant:
            continue
        assert row.location.file == f"ops/{row.area}.yaml"
        first, second = lines[row.area][row.location.line - 1 :][:2]
        schema = second.strip() if first == "- op: >-" else first.removeprefix("- op: ")
        assert schema.startswith(f"{row.name}(")


def test_a_folded_schema_is_one_schema(tmp_path):
    text = "ops:\n- op: >-\n    f(Tensor self,\n    int n=2)\n    -> Tensor\n  composite: f\n"
    assert rows(tmp_path, shape=text)["f"].schema.parameters() == "const Tensor& self, int64_t n"


def test_the_words_for_a_cell_mean_three_things(tmp_path):
    start = "- op: {}(Tensor self) -> Tensor\n  family: unary\n  cpu: f_op\n  npu: {}\n"
    cells = {"a": "aclnnAbs(self, out)", "b": "{kernel: f}", "c": "{substitute: f}"}
    made = rows(tmp_path, unary="ops:\n" + "".join(start.format(*cell) for cell in cells.items()))
    assert made["a"].npu == VendorCall("aclnnAbs", ("self", "out"))
    assert made["b"].npu == HandWritten("f")
    assert made["c"].npu == Substitute("f")
    assert [row.support("npu") for row in made.values()] == ["`aclnnAbs`", "`f`", "its parts"]


def test_the_key_of_a_function_names_the_family(tmp_path):
    text = "family: unary\nops:\n" + "".join(
        f"- op: {name}(Tensor[] self) -> Tensor[]\n  {key}: {function}\n"
        for name, key, function in [
            ("a", "view", "f"),
            ("b", "composite", "f"),
            ("c", "python", "f"),
            ("d", "each", "f(self)"),
            ("e", "call", "f(self)"),
        ]
    )
    assert [row.family for row in rows(tmp_path, shape=text).values()] == [
        "view",
        "composite",
        "python",
        "foreach",
        "call",
    ]


def test_what_a_file_says_holds_for_the_families_that_know_it(tmp_path):
    text = """
family: unary
dtype: float
module: special
ops:
- op: special_f(Tensor self) -> Tensor
  cpu: f_op
- op: special_g(Tensor self) -> Tensor
  composite: g
- op: h(Tensor self) -> Tensor
  module: ""
  dtype: same
  cpu: f_op
"""
    made = rows(tmp_path, special=text)
    assert made["special_f"].dtype == "float" and made["special_f"].variants == ("function", "out")
    assert made["special_g"].variants == ("function",) and made["special_g"].public_name == "g"
    assert made["h"].dtype == "same" and made["h"].variants == ("function", "method", "inplace", "out")


@pytest.mark.parametrize(
    "overload, keys, made",
    [
        (".Tensor", "", ["f.Tensor", "f.Scalar"]),
        ("", "", ["f"]),
        ("", "  scalar: {substitute: f}\n", ["f", "f.Scalar"]),
        ("", "  scalar_overload: n_scalar\n", ["f", "f.n_scalar"]),
        (".Tensor", "  scalar_overload: null\n", ["f.Tensor"]),
    ],
)
def test_a_binary_row_stands_for_the_overload_with_a_number(tmp_path, overload, keys, made):
    text = (
        f"ops:\n- op: f{overload}(Tensor self, Tensor other) -> Tensor\n  family: binary\n  cpu: f_op\n{keys}"
    )
    found = rows(tmp_path, binary=text)
    assert list(found) == made
    assert [row.schema.arguments[1].type.name for row in found.values()] == ["Tensor", "Scalar"][: len(made)]


def test_messages_leave_out_overloads_whose_numbers_pass_for_tensors(tmp_path):
    text = "family: binary\nops:\n- op: f.Tensor(Tensor self, Tensor other) -> Tensor\n  cpu: f_op\n"
    (source,) = bindings.functions_sources(list(rows(tmp_path, binary=text).values())).values()
    assert '"(Tensor input, Number other' in source and '"(Tensor input, Tensor other' in source
    (tmp_path / "again").mkdir()
    marked = rows(tmp_path / "again", binary=text + "  number_as_tensor: true\n")
    (source,) = bindings.functions_sources(list(marked.values())).values()
    assert '"(Tensor input, Number other' not in source and '"(Tensor input, Tensor other' in source


def test_a_call_of_another_operator_is_bound_with_the_header_of_its_area(tmp_path):
    f = "- op: f(Tensor self, int n) -> Tensor\n  composite: f\n"
    twice = "- op: double(Tensor self) -> Tensor\n  call: f(self, 2)\n  shown_as: twice\n"
    made = rows(tmp_path, unary="ops:\n" + f, shape="ops:\n" + twice)
    assert made["double"].declarations() == [] and made["double"].variants == ("method",)
    source = bindings.methods_sources(list(made.values()))["shape"]
    assert '#include "generated/ops/unary.h"' in source
    assert 'Overloads overloads("double", ' in source and '}, "twice");' in source
    assert "return f(self, 2);" in source


def test_an_object_as_result_is_handed_on_as_it_is(tmp_path):
    text = "ops:\n- op: f(int n) -> Any\n  variants: [function]\n  call: g(n)\n"
    (source,) = bindings.functions_sources(list(rows(tmp_path, shape=text).values())).values()
    assert "return call(b.integer(0));" in source


def test_an_in_place_row_writes_the_argument_that_its_result_is(tmp_path):
    schema = "f(Tensor x, Tensor(a!) tracker, Tensor(b!) out) -> Tensor(b!)"
    row = rows(tmp_path, shape=f"ops:\n- op: {schema}\n  family: inplace\n  cpu: f\n")["f"]
    assert row.target == "out" and row.kernel_arguments == "x, tracker, out"


def _wide(count, keys=""):
    arguments = ",\n    ".join(f"int n{i}" for i in range(count - 1))
    return f"ops:\n- op: >-\n    f(Tensor self,\n    {arguments})\n    -> Tensor\n  composite: f\n{keys}"


def test_a_row_may_have_as_many_parameters_as_the_parser_has_room_for(tmp_path):
    made = rows(tmp_path, shape=_wide(bindings.MOST_PARAMETERS))
    assert len(bindings.python_arguments(made["f"])) == bindings.MOST_PARAMETERS
    assert f"kMostParameters = {bindings.MOST_PARAMETERS};" in bindings.limits_header()


@pytest.mark.parametrize(
    "count, keys", [(17, ""), (16, "  variants: [function, out]\n"), (12, "  factory: true\n")]
)
def test_a_row_with_more_parameters_is_refused(tmp_path, count, keys):
    text = refusal(tmp_path, shape=_wide(count, keys))
    assert text.startswith(
        "ops/shape.yaml:2: f: 17 parameters (with out= and the options of factories), but "
    )


def test_a_row_that_python_does_not_see_may_have_more(tmp_path):
    assert "f" in rows(tmp_path, shape=_wide(20, "  variants: [cpp]\n"))


def test_nodes_are_numbered_in_each_table_from_the_start(tmp_path):
    text = "family: unary\nops:\n- op: f{}(Tensor self) -> Tensor\n  cpu: f_op\n  grad: {{self: grad}}\n"
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        row = rows(tmp_path / folder, unary=text.format(f".{folder}"))[f"f.{folder}"]
        assert row.node == "FBackward0"


@pytest.mark.parametrize(
    "spelled, cpp, value",
    [
        ("int n=-1", "int64_t n = -1", "b.integer(1, -1)"),
        ("int[2] n=1", "IntList n = Dims{1, 1}", "b.sized_ints(1, 2, Dims{1, 1})"),
        ("int[2] n=[]", "IntList n = IntList()", "b.sized_ints(1, 2)"),
        ("int[1] n=[-2, -1]", "const DimList& n = DimList(Dims{-2, -1})", "b.dims(1, DimList(Dims{-2, -1}))"),
        ("SymInt n=-1", "int64_t n = -1", "b.integer(1, -1)"),
        ("SymInt[2] n=1", "IntList n = Dims{1, 1}", "b.sized_ints(1, 2, Dims{1, 1})"),
        ("int[3]? n=None", "const OptionalInts& n = std::nullopt", "b.sized_ints_or_none(1, 3)"),
        ("Tensor? n=None", "const Tensor& n = Tensor()", "b.tensor(1)"),
        ("Scalar n=0.5", "const Scalar& n = Scalar(0.5)", "b.number(1, Scalar(0.5))"),
        ("str n='mean'", 'std::string_view n = "mean"', 'b.text(1, "mean")'),
        ("bool n=True", "bool n = true", "b.boolean(1, true)"),
        ("float[] n=[]", "std::span<const double> n = std::span<const double>()", "b.reals(1)"),
        ("Generator? n=None", "Generator* n = nullptr", "b.generator(1)"),
        ("Device? n=None", "std::optional<Device> n = std::nullopt", "b.device_or_none(1)"),
        ("DeviceName? n=None", "std::optional<Device> n = std::nullopt", "b.device_name_or_none(1)"),
    ],
)
def test_a_type_says_how_it_is_passed_defaulted_and_read(tmp_path, spelled, cpp, value):
    row = rows(tmp_path, shape=f"ops:\n- op: f(Tensor self, {spelled}) -> Tensor\n  composite: f\n")["f"]
    argument = row.schema.arguments[1]
    assert row.schema.parameters(defaults=True) == f"const Tensor& self, {cpp}"
    assert argument.type.value(1, argument.cpp_default) == value


def test_what_a_node_keeps_of_a_span_is_a_copy():
    span = schema_types.named("float[]")
    assert span.kept == "std::vector<double>"
    assert span.store("x") == "node->x_.assign(x.begin(), x.end());"
    assert schema_types.named("int[2]").store("x") == "node->x_ = Dims(x);"


def test_rules_of_shapes_are_declared_once_by_the_area_that_names_them(tmp_path):
    text = """
family: kernel
ops:
- op: a(Tensor self, int k=1) -> (Tensor values, Tensor indices)
  infer: pick
  cpu: a
- op: b(Tensor self, int k) -> (Tensor values, Tensor indices)
  infer: pick
  cpu: b
- op: c_(Tensor(a!) self, Scalar value) -> Tensor(a!)
  family: inplace
  infer: check_c
  cpu: c
- op: d(Tensor self, Tensor other) -> Tensor
  family: compare
  check: check_d
  cpu: d_op
  scalar_overload: Scalar
"""
    header = infer.header(list(rows(tmp_path, sort=text).values()), "sort")
    declared = [line for line in header.splitlines() if line.startswith("void")]
    assert declared == [
        "void check_c(const Tensor& self, const Scalar& value);",
        "void check_d(const Tensor& self, const Scalar& other);",
        "void check_d(const Tensor& self, const Tensor& other);",
        "void pick(const Tensor& self, int64_t k, Output& values, Output& indices);",
    ]


def test_a_device_declares_what_is_written_by_hand_for_it_in_the_area_of_the_row():
    files = outputs(load_table())
    assert "void kthvalue(const Tensor& self, int64_t k" in files["cpu/sort.h"]
    assert "void kthvalue(" not in files["npu/sort.h"]  # the vendor has it
    assert [name for name in files if name.startswith(("cpu/", "npu/")) and "void cdist" in files[name]] == [
        "cpu/distance.h"
    ]


def test_a_device_without_kernels_for_an_area_has_no_file_of_it():
    files = outputs(load_table())
    assert "npu/foreach.cpp" in files and "cpu/foreach.cpp" not in files and "cpu/view.cpp" not in files
    assert "register_foreach_kernels" not in files["cpu/register.cpp"]


def test_the_generator_writes_the_same_files_every_time():
    assert outputs(load_table()) == outputs(load_table())
