"""``mindtorch run``: programs that say ``import torch`` run on this package, unchanged."""

import json
import os
import subprocess
import sys
from pathlib import Path

SHOW = """
import json, sys, importlib.util, importlib.metadata as metadata
import torch, torch.nn, torch.nn.functional as F, mindtorch_v2, mindtorch_v2.nn, torch_npu, torch_npu.npu, functorch
print(json.dumps({
    "one package": torch is mindtorch_v2,
    "one nn": torch.nn is mindtorch_v2.nn and F is mindtorch_v2.nn.functional,
    "torch_npu.npu": torch_npu.npu is torch.npu,
    "functorch": functorch.vmap.__wrapped__ is torch.vmap,
    "version": [str(torch.__version__), torch.__version__ >= (2, 6), metadata.version("torch")],
    "spec": importlib.util.find_spec("torch").name,
    "distribution": metadata.packages_distributions()["torch"],
    "classes": [str(torch.Tensor), str(torch.nn.Linear), str(torch.dtype), str(torch.Size)],
    "missing": importlib.util.find_spec("torch.no_such_module") is None,
    "arguments": sys.argv,
}))
"""


LIMIT = 400 if os.environ.get("MINDTORCH_BUILD") == "asan" else 100  # seconds; checked code is slow


def run(*arguments: str, check: bool = True, **settings: str) -> subprocess.CompletedProcess[str]:
    result = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "run", *arguments],
        env=dict(os.environ) | settings, capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert not check or result.returncode == 0, result.stderr
    return result


def test_torch_is_this_package_and_says_so_to_whoever_asks(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SHOW)
    shown = json.loads(run(str(script), "--epochs", "3", "-m", "x").stdout)
    assert shown == {
        "one package": True,
        "one nn": True,
        "torch_npu.npu": True,
        "functorch": True,
        "version": ["2.13.0", True, "2.13.0"],
        "spec": "torch",
        "distribution": ["torch"],
        "classes": [
            "<class 'torch.Tensor'>", "<class 'torch.nn.modules.linear.Linear'>", "<class 'torch.dtype'>",
            "<class 'torch.Size'>",
        ],
        "missing": True,
        "arguments": [str(script), "--epochs", "3", "-m", "x"],
    }  # fmt: skip


def test_a_package_called_torch_that_is_installed_stays_out_of_the_way(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise AssertionError('the other torch was imported')")
    (tmp_path / "torch" / "only_there.py").write_text("")
    command = "import torch, importlib.util as u; print(torch.ones(2), u.find_spec('torch.only_there'))"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert run("-c", command, PYTHONPATH=path).stdout == "tensor([1., 1.]) None\n"


CHILDREN = """
import multiprocessing, subprocess, sys

def double(x):
    import torch
    return (torch.tensor(x) * 2).item()

if __name__ == "__main__":
    inside = "import torch; print(torch.__name__, torch.__version__)"
    print(subprocess.run([sys.executable, "-c", inside], capture_output=True, text=True).stdout, end="")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [1, 2]))
"""


def test_processes_that_the_program_starts_have_the_same_torch(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(CHILDREN)
    assert run(str(script)).stdout == "torch 2.13.0\n[2, 4]\n"


def test_modules_and_commands_run_too_and_keep_their_options(tmp_path):
    (tmp_path / "inside.py").write_text("import sys, torch; print(__name__, torch.pi > 3, sys.argv[1:])")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert (
        run("-m", "inside", "-q", "--npu", "x", PYTHONPATH=path).stdout
        == "__main__ True ['-q', '--npu', 'x']\n"
    )
    assert run("-c", "import sys; print(sys.argv)", "a", "-c").stdout == "['-c', 'a', '-c']\n"


def test_the_npu_is_chosen_on_the_command_line():
    ask = "import torch; print(torch.npu.is_available())"
    assert run("--npu", "soft", "-c", ask, MINDTORCH_NPU="").stdout == "True\n"
    assert run("--npu", "off", "-c", ask, MINDTORCH_NPU="soft").stdout == "False\n"
    use = "import torch\ntry: torch.ones(1, device='npu')\nexcept RuntimeError as error: print(error)"
    assert "MINDTORCH_NPU is 'off'" in run("--npu=off", "-c", use).stdout


def test_what_cannot_be_run_is_refused_with_the_way_it_is_meant(tmp_path):
    for arguments, text in (
        ((), "no program was given: mindtorch run"),
        (("-m",), "no module after -m was given"),
        (("-c",), "no command after -c was given"),
        ((str(tmp_path / "missing.py"),), "there is no file"),
    ):
        result = run(*arguments, check=False)
        assert result.returncode == 2
        assert text in result.stderr


def test_a_failing_program_gives_its_own_status_and_traceback(tmp_path):
    script = tmp_path / "fails.py"
    script.write_text("import torch\ntorch.ones(2) + torch.ones(3)\n")
    result = run(str(script), check=False)
    assert result.returncode == 1
    assert f'File "{script}", line 2' in result.stderr
    assert run("-c", "raise SystemExit(7)", check=False).returncode == 7


def test_a_sitecustomize_of_the_environment_still_runs(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.mark = 'seen'")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert run("-c", "import torch; print(mark)", PYTHONPATH=path).stdout == "seen\n"


def test_the_command_itself_works_inside_a_program():
    inside = (
        "import subprocess, sys; print(subprocess.run([sys.executable, '-m', 'mindtorch_v2', 'run', '-c', "
    )
    inside += "'import torch; print(torch.__version__)'], capture_output=True, text=True).stdout)"
    assert run("-c", inside).stdout.strip() == "2.13.0"


def test_pickles_name_torch_as_those_of_pytorch_do():
    command = (
        "import torch, pickle; text = pickle.dumps(torch.nn.Linear); "
        "print(b'torch.nn.modules.linear' in text, b'mindtorch' in pickle.dumps(torch.ones(2)), "
        "pickle.loads(pickle.dumps(torch.arange(3))))"
    )
    assert run("-c", command).stdout == "True False tensor([0, 1, 2])\n"


def test_examples_show_their_progress_without_a_terminal():
    example = Path(__file__).parents[2] / "examples" / "char_gpt.py"
    shown = run(str(example), "--steps", "20", "--device", "cpu").stderr
    assert "step 10/20  loss " in shown and "step 20/20  loss " in shown
