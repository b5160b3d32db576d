"""The live page of ``mindtorch memory watch`` in a real browser, for programs on an NPU and on a (made-up) GPU."""

import os
import re
import subprocess
import sys
from urllib.parse import urlsplit

import fake_gpu
import pytest
from playwright.sync_api import expect

from mindtorch_v2 import memory_tools

# Makes and drops tensors as it is told; an empty line ends it.
PROGRAM = """
import sys
import mindtorch_v2 as torch
device, kept = sys.argv[1], []
print("ready", flush=True)
for line in sys.stdin:
    mebi = int(line or 0)
    if not mebi:
        break
    kept.append(torch.empty(mebi << 20, dtype=torch.uint8, device=device))
    print("done", flush=True)
"""


class Program:
    def __init__(self, device, environment, folder):
        self.device = device
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, device], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment | {"MINDTORCH_MEMORY_WATCH": "1", "TMPDIR": str(folder)},
        )  # fmt: skip
        assert self.process.stdout.readline() == "ready\n"

    def take(self, mebi):
        self.process.stdin.write(f"{mebi}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self):
        self.process.communicate("0\n", timeout=30)
        assert self.process.returncode == 0


@pytest.fixture(params=["npu", "cuda"])
def program(request, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environment = dict(os.environ)
    if request.param == "cuda":
        fake_gpu.build(tmp_path)
        environment = fake_gpu.environment(tmp_path)
    made = Program(request.param, environment, tmp_path)
    yield made
    if made.process.poll() is None:
        made.end()


def opened(browser, address, scheme="light"):
    page = browser.new_context(viewport={"width": 900, "height": 600}, color_scheme=scheme).new_page()
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    return page, asked, complaints


def test_the_live_page_follows_the_program_each_second(browser, program, tmp_path):
    address = memory_tools.page_of(program.process.pid)
    page, asked, complaints = opened(browser, address)
    expect(page.locator("#state")).to_contain_text("no device has been used")
    program.take(24)
    expect(page.locator("main")).to_contain_text("24.00 MiB for tensors", timeout=5000)
    assert page.title() == f"Memory of process {program.process.pid}"
    assert page.locator("h2").inner_text() == f"{program.device}:0"
    program.take(40)
    expect(page.locator("main")).to_contain_text("64.00 MiB for tensors", timeout=5000)
    assert page.locator("meter").evaluate("each => each.value") >= 64 << 20
    before = len(asked)
    page.wait_for_timeout(3200)
    assert 2 <= len(asked) - before <= 4  # each second
    drawn = page.evaluate("[...devices.values()][0].plot.data.map(column => column.length)")
    assert drawn[0] >= 3 and len(set(drawn)) == 1
    assert {urlsplit(each).netloc for each in asked} == {urlsplit(address).netloc} and complaints == []
    page.screenshot(path=tmp_path / "watch.png")
    program.end()
    expect(page.locator("#state")).to_contain_text("no answer", timeout=5000)
    assert "64.00 MiB for tensors" in page.locator("main").inner_text()  # the last that was told


@pytest.mark.parametrize("program", ["npu"], indirect=True)
def test_the_live_page_is_not_shown_without_the_token(browser, program):
    address = memory_tools.page_of(program.process.pid)
    page, _, _ = opened(browser, re.sub("token=.*", "token=guessed", address))
    assert "the token is wrong" in page.content() and "uPlot" not in page.content()
    other = address.replace("127.0.0.1", "127.0.0.2")  # another address of this machine
    with pytest.raises(Exception, match="ERR_CONNECTION_REFUSED"):
        opened(browser, other)


@pytest.mark.parametrize("program", ["npu"], indirect=True)
def test_the_live_page_is_dark_where_the_reader_wants_it_dark(browser, program):
    page, _, _ = opened(browser, memory_tools.page_of(program.process.pid), "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
