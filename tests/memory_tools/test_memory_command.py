"""The commands of ``mindtorch memory``."""

import pytest

from mindtorch_v2 import _cli


def run(capsys, *arguments):
    code = _cli.main(["memory", *map(str, arguments)])
    return code, capsys.readouterr()


def test_replay_shows_settings_side_by_side(capsys, pytorch_snapshot):
    code, shown = run(
        capsys, "replay", pytorch_snapshot("cnn"), "--conf", "expandable_segments:True",
        "--conf", "max_split_size_mb:32", "--capacity", "1800MiB",
    )  # fmt: skip
    assert code == 0
    rows = [line.split("  ")[0] for line in shown.out.splitlines()]
    assert rows[-4:] == [
        "as recorded",
        "default settings",
        "expandable_segments:True",
        "max_split_size_mb:32",
    ]
    assert "1.88 GiB" in shown.out and "at event" in shown.out


def test_advise_says_which_settings_are_best(capsys, pytorch_snapshot):
    code, shown = run(
        capsys, "advise", pytorch_snapshot("cnn"), "--conf", "", "--conf", "expandable_segments:True"
    )
    assert code == 0 and "best settings: expandable_segments:True" in shown.out


def test_diff_and_leaks_print_what_they_find(capsys, pytorch_snapshot):
    code, shown = run(capsys, "diff", pytorch_snapshot("cnn"), pytorch_snapshot("gen"))
    assert code == 0 and "by category:" in shown.out and "train.py" in shown.out
    code, shown = run(capsys, "leaks", pytorch_snapshot("cnn"))
    assert (code, shown.out) == (0, "nothing grows in this history\n")


def test_view_writes_a_page_that_asks_nobody_for_anything(capsys, pytorch_snapshot, tmp_path):
    path = pytorch_snapshot("gen")
    code, shown = run(capsys, "view", path)
    page = path.with_suffix(".html")
    assert code == 0 and shown.out == f"wrote {page}\n"
    text = page.read_text()
    assert (
        "default-src 'none'" in text
        and "<script src" not in text
        and "<link" not in text
        and "train.py" in text
    )
    assert "Leon Sorokin" in text or "uPlot" in text
    assert not [line for line in text.splitlines() if "<!--" in line and "-->" in line]
    code, shown = run(capsys, "view", path, "-o", tmp_path / "other.html")
    assert (tmp_path / "other.html").read_text() == text


def test_names_on_a_stack_cannot_leave_the_pages_data(tmp_path):
    from mindtorch_v2 import memory_tools

    frame = {"filename": "</script><script>alert(1)</script>", "line": 1, "name": "<!--data-->"}
    block = {"size": 512, "requested_size": 512, "state": "active_allocated", "frames": [frame]}
    segment = {"device": 0, "address": 512, "total_size": 512, "stream": 0, "blocks": [block]}
    memory_tools.view(memory_tools.from_data({"segments": [segment]}), tmp_path / "page.html")
    assert "alert(1)</script>" not in (tmp_path / "page.html").read_text()


def test_what_cannot_be_read_is_an_error_of_one_line(capsys, tmp_path):
    code, shown = run(capsys, "view", tmp_path / "nothing.pickle")
    assert code == 2 and "nothing.pickle" in shown.err
    (tmp_path / "text").write_text("hello")
    code, shown = run(capsys, "leaks", tmp_path / "text")
    assert code == 2 and shown.err.startswith("mindtorch: ") and shown.err.count("\n") == 1
    with pytest.raises(SystemExit):
        _cli.main(["memory", "unknown"])
