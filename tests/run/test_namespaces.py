"""The namespaces that libraries look at: what is absent says so in PyTorch's words, what is there works."""

import copy
import pickle
import threading
import warnings

import pytest

import mindtorch_v2 as torch


def test_cuda_is_absent_in_pytorchs_words():
    assert (torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.is_initialized()) == (
        False,
        0,
        False,
    )
    assert torch.cuda.memory_allocated() == 0 and torch.cuda.get_rng_state_all() == []
    torch.cuda.manual_seed_all(3)
    torch.cuda.empty_cache()
    for name in (
        "init",
        "current_device",
        "synchronize",
        "get_device_name",
        "mem_get_info",
        "current_stream",
    ):
        with pytest.raises(AssertionError, match="^Torch not compiled with CUDA enabled$"):
            getattr(torch.cuda, name)()
    with pytest.raises(AssertionError, match="^Torch not compiled with XPU enabled$"):
        torch.xpu.synchronize()
    with pytest.raises(AssertionError, match="^Torch not compiled with CUDA enabled$"):
        torch.ones(1).cuda()
    with pytest.raises(RuntimeError, match="torch.cuda.Stream requires CUDA support"):
        torch.cuda.Stream()
    assert torch.cuda.Stream | None  # good for annotations


def test_an_attention_is_described_and_no_kernel_of_cuda_takes_it():
    q = torch.ones(1, 2, 3, 4)
    asked = torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, True, False)
    assert asked.query is q and asked.is_causal and asked.attn_mask is None
    cuda = torch.backends.cuda
    assert not cuda.can_use_flash_attention(asked) and not cuda.can_use_efficient_attention(asked, True)
    with pytest.raises(TypeError):
        torch.backends.cuda.SDPAParams(q, q, q)


def test_packages_that_go_through_the_namespace_of_optimizers_find_them_all():
    kinds = {name for name, kind in vars(torch.optim).items() if isinstance(kind, type)}
    assert {"Adam", "LBFGS", "SparseAdam", "Optimizer", "Muon"} <= kinds
    assert "StepLR" in vars(torch.optim.lr_scheduler)


def test_versions_compare_by_their_numbers():
    version = torch.torch_version.TorchVersion("2.13.0")
    assert version > "2.9" and version >= (2, 13) and version == "2.13" and version < "2.13.1"
    assert torch.torch_version.TorchVersion("2.13.0a0+git1") < version and version != "nonsense"
    assert torch.version.__version__ == "2.13.0" and torch.version.cuda is None


def test_the_class_of_tensors_makes_them_on_the_host_whatever_the_default_device_is():
    with torch.device("meta"):
        made = torch.Tensor(2, 3), torch.Tensor([1, 2]), torch.Tensor()
        assert [t.device.type for t in made] == ["cpu"] * 3
        assert torch.Tensor(2, device="meta").is_meta and torch.ones(1).new(2).is_meta


def test_legacy_types_are_types_whose_instances_are_tensors_of_a_dtype():
    made = torch.FloatTensor([1, 2])
    assert isinstance(made, torch.FloatTensor) and not isinstance(made, torch.LongTensor)
    assert made.dtype is torch.float32 and torch.LongTensor(2, 3).shape == (2, 3)
    assert (
        made.type(torch.LongTensor).dtype is torch.int64
        and made.type("torch.HalfTensor").dtype is torch.float16
    )
    assert isinstance(torch.FloatTensor | None, object) and type(torch.FloatTensor) is torch.tensortype
    with pytest.raises(ValueError, match="invalid type: 'torch.NoTensor'"):
        made.type("torch.NoTensor")
    with pytest.raises(TypeError, match="expected a CPU tensor of dtype torch.float32"):
        torch.FloatTensor(made.long())


def test_a_device_is_the_default_inside_a_with_block_of_its_thread():
    seen = []
    with torch.device("meta"):
        with torch.device("cpu"):
            assert torch.ones(1).device.type == "cpu"
        assert (
            torch.empty(2).is_meta
            and torch.tensor([1.0]).is_meta
            and torch.get_default_device().type == "meta"
        )
        thread = threading.Thread(target=lambda: seen.append(torch.ones(1).device.type))
        thread.start()
        thread.join()
    assert seen == ["cpu"]
    assert torch.ones(1).device.type == "cpu"
    torch.set_default_device("meta")
    try:
        assert torch.zeros(3).is_meta
    finally:
        torch.set_default_device(None)


def test_compile_runs_eagerly_and_warns_once(monkeypatch):
    monkeypatch.setattr(torch.compiler, "_told", False)
    with pytest.warns(UserWarning, match="no compiler"):
        double = torch.compile(lambda x: x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = torch.nn.Linear(2, 2)
        assert torch.compile(module)._orig_mod is module
        assert torch.compile(module, disable=True) is module

        @torch.compile(fullgraph=True)
        def triple(x):
            return x * 3

    assert double(2) == 4 and triple(2) == 6
    assert not torch.compiler.is_compiling() and not isinstance(module, torch._dynamo.OptimizedModule)


def test_a_compiled_module_stands_in_front_of_the_module():
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.compile(module)
        assert torch.compile(compiled) is compiled
    assert isinstance(compiled, torch._dynamo.OptimizedModule) and not isinstance(
        compiled, torch.nn.Sequential
    )
    assert list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert [name for name, _ in compiled.named_modules()] == ["", "_orig_mod", "_orig_mod.0", "_orig_mod.1"]
    assert len(compiled) == 2 and "out_features" not in dir(compiled) and "append" in dir(compiled)
    compiled.eval()
    assert not module.training and not module[1].training and not compiled.training
    compiled.note = 3  # attributes are the module's
    assert module.note == 3 and compiled.note == 3 and "note" not in compiled.__dict__
    del compiled.note
    assert not hasattr(module, "note")
    x = torch.randn(3, 2)
    calls = []
    module.register_forward_hook(lambda *_: calls.append("module"))
    compiled.register_forward_hook(lambda *_: calls.append("compiled"))
    assert torch.equal(compiled(x), module[0](x)) and calls == ["module", "compiled"]
    other = copy.deepcopy(compiled)
    assert other._orig_mod is not module and torch.equal(other(x), compiled(x))
    other = pickle.loads(pickle.dumps(torch.compile(torch.nn.Linear(2, 2))))
    other.load_state_dict({f"_orig_mod.{name}": value for name, value in module[0].state_dict().items()})
    assert torch.equal(other(x), module[0](x))
    with pytest.raises(TypeError, match=r"^Linear does not support len\(\)$"):
        len(other)


def test_marks_for_torchscript_pass_through():
    @torch.jit.script
    def scripted(x):
        return x + 1

    @torch.jit.ignore
    def ignored(x):
        return x

    assert (
        scripted(1) == 2 and ignored(3) == 3 and not torch.jit.is_scripting() and not torch.jit.is_tracing()
    )
    assert torch.jit.isinstance([1, 2], list[int]) and not torch.jit.isinstance([1, "a"], list[int])
    with pytest.raises(NotImplementedError, match="there is no TorchScript here"):
        torch.jit.save(scripted, "file")


def test_traced_functions_and_modules_run_as_python():
    calls = []

    class Doubles(torch.nn.Module):
        def forward(self, x, *, by=2):
            calls.append(by)
            return x * by

        def halve(self, x):
            calls.append("halve")
            return x / 2

    module = Doubles()
    x = torch.ones(2)
    assert torch.jit.trace(module, x) is module and torch.jit.trace(module, (x,), check_trace=False) is module
    assert torch.jit.trace(module, x, example_kwarg_inputs={"by": 3}) is module
    assert torch.jit.trace_module(module, {"forward": x, "halve": (x,)}) is module
    assert calls == [2, 2, 3, 2, "halve"]
    with pytest.raises(RuntimeError, match="^example_kwarg_inputs should be a dict$"):
        torch.jit.trace(module)


def test_modules_that_derive_from_script_module_run_as_python():
    class Scripted(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 3)

        @torch.jit.script_method
        def forward(self, x):
            return self.layer(x)

    module = Scripted()
    assert module(torch.ones(1, 2)).shape == (1, 3) and list(module.state_dict()) == [
        "layer.weight",
        "layer.bias",
    ]
    assert isinstance(module, torch.jit.ScriptModule)


def test_scripted_and_traced_modules_are_script_modules():
    plain, scripted, traced = torch.nn.ReLU(), torch.nn.ReLU(), torch.nn.ReLU()
    assert torch.jit.script(scripted) is scripted and isinstance(scripted, torch.jit.ScriptModule)
    assert torch.jit.trace(traced, torch.ones(1)) is traced and isinstance(traced, torch.jit.ScriptModule)
    assert not isinstance(plain, torch.jit.ScriptModule) and not isinstance(3, torch.jit.ScriptModule)

    class Derived(torch.jit.ScriptModule):
        pass

    assert not isinstance(scripted, Derived) and not isinstance(scripted, torch.jit.RecursiveScriptModule)


def test_distributed_is_available_and_has_no_group_before_one_is_made():
    assert torch.distributed.is_available() and not torch.distributed.is_initialized()
    from mindtorch_v2.distributed.tensor import DTensor

    assert not isinstance(torch.ones(1), DTensor)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        torch.distributed.all_reduce(torch.ones(1))


def test_settings_are_kept_and_bad_ones_refused():
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        assert torch.are_deterministic_algorithms_enabled() and torch.get_deterministic_debug_mode() == 1
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.get_float32_matmul_precision() == "highest"
    with pytest.warns(UserWarning, match="has no effect"):
        torch.set_float32_matmul_precision("low")
    with torch.backends.cudnn.flags(benchmark=True):
        assert torch.backends.cudnn.benchmark
    assert not torch.backends.cudnn.benchmark and not torch.backends.mps.is_available()
    assert torch.get_device_module("npu") is torch.npu and torch.get_device_module("cpu") is torch.cpu
    with pytest.raises(NotImplementedError, match="custom_op"):
        torch.utils.cpp_extension.load("name", [])


def test_a_timer_measures_what_it_is_told():
    timer = torch.utils.benchmark.Timer(
        "y = x + x", globals={"x": torch.ones(3)}, label="add", sub_label="small"
    )
    measured = timer.timeit(20)
    assert measured.number_per_run == 20 and measured.median > 0
    assert "add: small" in repr(measured) and "1 measurement, 20 runs , 1 thread" in repr(measured)
    assert len(timer.blocked_autorange(min_run_time=0.01).times) >= 1
    with pytest.raises(ValueError, match="only a `str` stmt"):
        torch.utils.benchmark.Timer(lambda: None)


def test_futures_carry_results_and_errors():
    future = torch.futures.Future()
    later = future.then(lambda f: f.value() + 1)
    together = torch.futures.collect_all([future, later])
    future.set_result(1)
    assert (future.wait(), later.wait(), together.done()) == (1, 2, True)
    failed = torch.futures.Future()
    failed.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        failed.wait()
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        failed.set_result(1)


def test_weights_are_downloaded_once_and_checked(tmp_path, monkeypatch, capsys):
    import hashlib

    served = tmp_path / "served"
    served.mkdir()
    torch.save({"w": torch.ones(2)}, served / "plain.pt")
    digest = hashlib.sha256((served / "plain.pt").read_bytes()).hexdigest()
    named = served / f"model-{digest[:8]}.pt"
    named.write_bytes((served / "plain.pt").read_bytes())
    wrong = served / "model-00000000.pt"
    wrong.write_bytes(named.read_bytes())
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    assert torch.hub.get_dir() == str(tmp_path / "home" / "hub")
    for _ in range(2):
        assert torch.hub.load_state_dict_from_url(named.as_uri(), check_hash=True)["w"].tolist() == [1, 1]
    assert capsys.readouterr().err.count("Downloading") == 1
    with pytest.raises(RuntimeError, match="invalid hash value"):
        torch.hub.load_state_dict_from_url(wrong.as_uri(), check_hash=True)
    kept = [path.name for path in (tmp_path / "home" / "hub" / "checkpoints").iterdir()]
    assert kept == [named.name]
    with pytest.raises(NotImplementedError, match="install the package that has the model"):
        torch.hub.load("owner/repository", "model")


def test_devices_of_others_can_be_named_but_not_used():
    device = torch.device("cuda", 1)
    assert device == torch.device("cuda:1") and (device.type, device.index) == ("cuda", 1)
    assert device != torch.ones(1).device and repr(device) == "device(type='cuda', index=1)"
    for use in (
        lambda: torch.ones(1, device=device),
        lambda: torch.ones(1).to("cuda"),
        lambda: torch.nn.Linear(1, 1, device="cuda"),
        lambda: torch.Generator("cuda"),
        lambda: torch.set_default_device("cuda"),
    ):
        with pytest.raises(AssertionError, match="^Torch not compiled with CUDA enabled$"):
            use()
    with pytest.raises(RuntimeError, match="not linked with support for mps devices"):
        torch.ones(1, device="mps")
    with pytest.raises(RuntimeError, match="at start of device string: gpu"):
        torch.device("gpu")


def test_a_tensor_of_any_device_can_be_a_number():
    for device in ("cpu", "npu"):
        assert torch.full((2,), torch.tensor(3.5, device=device)).tolist() == [3.5, 3.5]
        assert torch.arange(torch.tensor(3, device=device)).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="must be Number, not Tensor"):
        torch.full((2,), torch.tensor([1.0]))


def test_generators_are_in_the_mode_only_while_they_run():
    @torch.no_grad()
    def walk():
        sent = yield torch.is_grad_enabled()
        try:
            yield sent, torch.is_grad_enabled()
        except ValueError:
            yield "caught", torch.is_grad_enabled()
        return "end"

    steps = walk()
    assert next(steps) is False and torch.is_grad_enabled()
    assert steps.send(5) == (5, False) and steps.throw(ValueError()) == ("caught", False)
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert stop.value.value == "end" and torch.is_grad_enabled()


def test_annotations_of_classes_can_be_evaluated():
    import typing

    for name in ("Module", "Linear", "Sequential", "ModuleDict", "MultiheadAttention"):
        assert "training" in typing.get_type_hints(getattr(torch.nn, name))


def test_a_leafs_node_knows_its_tensor():
    leaf = torch.ones(2, requires_grad=True)
    ((node, _),) = leaf.view(2).grad_fn.next_functions
    assert node.name() == "torch::autograd::AccumulateGrad" and node.variable is leaf


def test_tracers_of_other_libraries_find_what_they_replace():
    from mindtorch_v2.fx import _symbolic_trace as tracing

    class Layer(torch.nn.Module):
        def forward(self, x):
            return x + 1

    calls = []

    def noted(module, *args):
        calls.append(type(module).__name__)
        return tracing._orig_module_call(module, *args)

    with tracing._Patcher() as patcher:
        patcher.patch_method(torch.nn.Module, "__call__", noted, deduplicate=False)
        assert Layer()(torch.ones(1)).item() == 2 and calls == ["Layer"]
    assert torch.nn.Module.__call__ is tracing._orig_module_call
    assert not isinstance(torch.ones(1), tracing.ScriptObject)


def test_private_names_of_cuda_that_programs_ask_for():
    from mindtorch_v2.cuda._utils import _get_device_index

    assert torch.cuda._initialized is torch.cuda.is_initialized()
    assert _get_device_index("cuda:1") == _get_device_index(1) == torch.cuda._get_device_index(1) == 1
    assert _get_device_index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        _get_device_index("cpu")


def test_operators_of_triton_kernels_are_defined_and_refuse_to_launch():
    from mindtorch_v2 import library

    @library.triton_op("triton_tests::twice", mutates_args={})
    def twice(x: torch.Tensor) -> torch.Tensor:
        library.wrap_triton(None)
        return x

    with pytest.raises(NotImplementedError, match="^wrap_triton: Triton kernels cannot be launched"):
        torch.ops.triton_tests.twice(torch.ones(2))
