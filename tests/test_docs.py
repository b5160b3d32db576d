"""What the documentation says is so: its example runs, its snippets are Python, the files it names are there."""

import re
import textwrap
from pathlib import Path

import pytest
from opcases import ROWS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "ops" / "README.md"])
FOLDERS = (
    "benchmarks/",
    "cmake/",
    "codegen/",
    "csrc/",
    "docs/",
    "examples/",
    "ops/",
    "softnpu/",
    "src/",
    "tests/",
    "tools/",
)


def blocks(page, language):
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", page.read_text(), re.DOTALL | re.MULTILINE)


def page_name(page):
    return str(page.relative_to(ROOT))


def test_the_example_of_the_readme_learns(capsys):
    (example,) = blocks(ROOT / "README.md", "python")
    exec(compile(example, "README.md", "exec"), {})
    loss, accuracy = map(float, re.findall(r"\d+\.\d+", capsys.readouterr().out))
    assert loss < 0.2
    assert accuracy > 0.95


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=page_name)
def test_snippets_are_python(page):
    for snippet in blocks(page, "python"):
        compile(snippet, page_name(page), "exec")


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_files_that_a_page_names_exist(page):
    named = re.findall(r"`([\w./*-]+)`", page.read_text())
    wanted = [name for name in named if name.startswith(FOLDERS)]
    missing = [name for name in wanted if not list(ROOT.glob(name.rstrip("/")))]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def test_notes_that_a_page_names_are_written_in_the_code():
    sources = [*ROOT.glob("csrc/**/*.h"), *ROOT.glob("csrc/**/*.cpp"), *ROOT.glob("src/**/*.py")]
    sources += ROOT.glob("tools/*.py")
    code = "\n".join(path.read_text() for path in sources)
    # At the start of a line, in a comment or a docstring.
    written = set(re.findall(r"^\s*(?://|#)?\s*(Note \[[^\]]+\])", code, re.MULTILINE))
    for page in PAGES:
        for note in re.findall(r"Note \[[^\]]+\]", page.read_text()):
            assert note in written, f"{page_name(page)}: {note}"


def test_the_rows_shown_in_the_guide_stand_in_the_table():
    guide = ROOT / "docs" / "adding_an_op.md"
    (change,), (shown,) = blocks(guide, "diff"), blocks(guide, "yaml")
    rows, functors = (
        re.findall(r"^\+(?!\+)(.*\n)", part, re.MULTILINE) for part in change.split("--- a/")[1:]
    )
    table = "\n".join(path.read_text() for path in ROOT.glob("ops/*.yaml"))
    assert rows[0].startswith("- op: sinh(") and "".join(rows) in table
    assert shown.lstrip().startswith("- op: kthvalue(") and textwrap.dedent(shown) in table
    header = ROOT / "csrc" / "kernels" / "elementwise" / "functors.h"
    assert functors and "".join(functors) in header.read_text()


def test_the_support_matrix_has_every_row():
    matrix = (ROOT / "docs" / "support_matrix.md").read_text()
    assert [name for name in ROWS if f"| `{name}` |" not in matrix] == []
