"""A program that lets itself be watched tells its memory to who may know, and to nobody else."""

import json
import os
import socket
import subprocess
import sys
from http.client import HTTPConnection

import fake_gpu
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _cli, memory_tools

pytestmark = pytest.mark.skipif(not torch.npu.is_available(), reason="needs an NPU, the software one too")


@pytest.fixture
def watched(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with torch.npu.memory.serve_watch() as made:
        yield made


def answer(made, path="/stats", **headers):
    connection = HTTPConnection(made.address.removeprefix("http://"))
    connection.request("GET", path, headers=headers)
    got = connection.getresponse()
    return got.status, got.read().decode()


def test_a_look_says_what_tensors_have(watched, capsys):
    before = torch.npu.memory_allocated()
    held = torch.empty(1 << 20, device="npu")
    told = memory_tools.look(os.getpid())
    (device,) = [each for each in told["devices"] if each["device"] == "npu:0"]
    assert device["allocated"] == before + held.nbytes == torch.npu.memory_allocated()
    assert device["reserved"] == torch.npu.memory_reserved() and device["total"] > device["reserved"]
    assert _cli.main(["memory", "watch", str(os.getpid()), "--once"]) == 0
    assert "npu:0 [" in capsys.readouterr().out
    assert _cli.main(["memory", "watch", str(watched.path), "--page"]) == 0
    assert capsys.readouterr().out.strip() == watched.page


def test_the_page_asks_each_second(watched):
    status, text = answer(watched, f"/?token={watched.token}")
    assert status == 200 and "setInterval(ask, 1000)" in text and "<!--s" not in text
    assert answer(watched, f"/other?token={watched.token}")[0] == 404


def test_wrong_tokens_and_other_hosts_are_refused(watched):
    assert answer(watched)[0] == 403
    assert answer(watched, Authorization="Bearer " + "x" * 32)[0] == 403
    assert answer(watched, f"/?token={watched.token}x")[0] == 403
    right = f"Bearer {watched.token}"
    assert answer(watched, Authorization=right)[0] == 200
    assert answer(watched, Authorization=right, Host="evil.example")[0] == 403
    wrong = json.loads(watched.path.read_text()) | {"token": "guessed"}
    watched.path.write_text(json.dumps(wrong))
    with pytest.raises(memory_tools.NotWatchedError, match="token is wrong"):
        memory_tools.look(os.getpid())


def test_the_server_listens_on_this_machine_only(watched):
    assert watched._server.server_address[0] == "127.0.0.1"
    port = watched._server.server_port
    with socket.socket() as other:  # another address of this machine
        other.settimeout(5)
        assert other.connect_ex(("127.0.0.2", port)) != 0


def test_only_the_programs_user_can_read_the_token(watched):
    assert watched.path.stat().st_mode & 0o077 == 0 and watched.path.parent.stat().st_mode & 0o077 == 0
    watched.path.parent.chmod(0o755)
    with pytest.raises(PermissionError, match="not a folder of this user alone"):
        memory_tools.look(os.getpid())


def test_files_that_name_other_machines_are_refused(tmp_path, capsys):
    file = tmp_path / "other.json"
    file.write_text(json.dumps({"address": "http://10.0.0.1:80", "token": "x"}))
    with pytest.raises(memory_tools.NotWatchedError, match="only processes of this machine"):
        memory_tools.look(file)
    file.write_text("no JSON")
    assert _cli.main(["memory", "watch", str(file)]) == 2
    assert "is no file of a process" in capsys.readouterr().err


def test_a_program_is_not_watched_unless_it_asks(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(memory_tools.NotWatchedError, match="MINDTORCH_MEMORY_WATCH=1"):
        memory_tools.look(os.getpid())
    with pytest.raises(memory_tools.NotWatchedError, match="there is no process 999999999"):
        memory_tools.look(999999999)


def test_the_environment_starts_the_server_and_watching_ends_with_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    program = "import mindtorch_v2 as t; x = t.ones(512, device='npu'); print('ready', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "MINDTORCH_MEMORY_WATCH": "1", "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        looks = memory_tools.watch(process.pid, 0.01)
        assert next(looks)["devices"][0]["allocated"] >= 2048
        process.stdin.write("\n")
        process.stdin.close()
        for told in looks:
            assert told["pid"] == process.pid
    assert process.returncode == 0 and not list(tmp_path.glob("*/*.json"))


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    """The environment of a program on a made-up GPU."""
    folder = tmp_path_factory.mktemp("gpu")
    fake_gpu.build(folder)
    return fake_gpu.environment(folder) | {"TMPDIR": str(folder)}


def test_a_program_on_a_gpu_is_watched_too(gpu, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", gpu["TMPDIR"])
    program = (
        "import mindtorch_v2 as t; x = t.empty(3 << 20, dtype=t.uint8, device='cuda')\n"
        "print(t.cuda.memory_reserved(), t.cuda.mem_get_info()[1], flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], env=gpu | {"MINDTORCH_MEMORY_WATCH": "1"}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        reserved, total = map(int, process.stdout.readline().split())
        (told,) = memory_tools.look(process.pid)["devices"]
        process.communicate("\n")
    assert process.returncode == 0
    assert (told["device"], told["allocated"]) == ("cuda:0", 3 << 20)
    assert (told["reserved"], told["total"]) == (reserved, total)


def test_a_gpu_that_is_out_of_memory_leaves_a_snapshot_and_its_leaks_are_found(gpu, tmp_path):
    program = (
        "import mindtorch_v2 as t\n"
        "kept = []\n"
        "with t.cuda.memory.track_leaks() as tracker:\n"
        "    for _ in range(8):\n"
        "        kept.append(t.empty(1 << 20, device='cuda'))\n"
        "        tracker.step()\n"
        "    print(tracker.report())\n"
        "t.empty(1 << 50, dtype=t.uint8, device='cuda')\n"
    )
    (tmp_path / "program.py").write_text(program)
    found = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, timeout=60,
        env=gpu | {"OOM_SNAPSHOT_ENABLE": "1", "OOM_SNAPSHOT_PATH": str(tmp_path)},
    )  # fmt: skip
    assert "OutOfMemoryError: CUDA out of memory" in found.stderr
    assert "program.py:5" in found.stdout and "held by global 'kept'" in found.stdout
    (snapshot,) = tmp_path.glob("oom_snapshot_cuda0_*.pickle")
    assert snapshot.with_suffix(".html").exists()
    assert memory_tools.read(snapshot).devices[0].history.action.tolist()


def test_a_wrong_setting_is_an_error():
    found = subprocess.run(
        [sys.executable, "-c", "import mindtorch_v2 as t; t.npu.memory"],
        env={**os.environ, "MINDTORCH_MEMORY_WATCH": "yes"}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert found.returncode != 0 and "MINDTORCH_MEMORY_WATCH is 'yes'" in found.stderr
