"""Names of PyTorch's that are not here: they import, serve in annotations and subclasses, and refuse when used."""

import importlib
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._absent import making
from mindtorch_v2._absent.table import NAMES, REASONS

# The hundred names that most packages import and that were missing once, by number of packages.
MOST_IMPORTED = """
torch._C._TensorMeta torch._dynamo.utils torch._inductor.compile_fx.compile_fx torch._inductor.config
torch._inductor.custom_graph_pass.CustomGraphPass torch._inductor.lowering
torch._inductor.lowering.lowerings torch._inductor.pattern_matcher.PatternMatcherPass
torch._ops.HigherOrderOperator torch._ops.OpOverload torch._subclasses.FakeTensor
torch._subclasses.fake_tensor.FakeTensor torch._subclasses.fake_tensor.FakeTensorMode
torch._subclasses.fake_tensor.is_fake torch.ao.quantization.QConfig torch.ao.quantization.QConfigMapping
torch.backends.cuda.SDPAParams torch.backends.cuda.can_use_flash_attention torch.complex32
torch.distributed.Backend torch.distributed.DeviceMesh torch.distributed.P2POp
torch.distributed.ProcessGroup torch.distributed.ReduceOp torch.distributed.ReduceOp.MAX
torch.distributed.ReduceOp.MIN torch.distributed.ReduceOp.RedOpType torch.distributed.ReduceOp.SUM
torch.distributed.TCPStore torch.distributed.Work torch.distributed._composable.fsdp.FSDPModule
torch.distributed._composable.fsdp.fully_shard torch.distributed._functional_collectives
torch.distributed._symmetric_memory torch.distributed._tensor.DTensor
torch.distributed.algorithms._checkpoint.checkpoint_wrapper.CheckpointImpl
torch.distributed.algorithms._checkpoint.checkpoint_wrapper.CheckpointWrapper
torch.distributed.algorithms._checkpoint.checkpoint_wrapper.apply_activation_checkpointing
torch.distributed.algorithms._checkpoint.checkpoint_wrapper.checkpoint_wrapper
torch.distributed.algorithms.ddp_comm_hooks.default_hooks torch.distributed.all_gather
torch.distributed.all_reduce torch.distributed.checkpoint torch.distributed.checkpoint.FileSystemReader
torch.distributed.checkpoint.FileSystemWriter
torch.distributed.checkpoint.default_planner.DefaultLoadPlanner torch.distributed.checkpoint.load
torch.distributed.checkpoint.optimizer.load_sharded_optimizer_state_dict torch.distributed.checkpoint.save
torch.distributed.checkpoint.state_dict.StateDictOptions
torch.distributed.checkpoint.state_dict.get_model_state_dict
torch.distributed.checkpoint.state_dict.get_optimizer_state_dict
torch.distributed.checkpoint.state_dict.set_model_state_dict
torch.distributed.checkpoint.state_dict.set_optimizer_state_dict torch.distributed.device_mesh.DeviceMesh
torch.distributed.device_mesh.init_device_mesh torch.distributed.fsdp.CPUOffload
torch.distributed.fsdp.CPUOffloadPolicy torch.distributed.fsdp.FSDPModule
torch.distributed.fsdp.FullStateDictConfig torch.distributed.fsdp.FullyShardedDataParallel
torch.distributed.fsdp.MixedPrecisionPolicy torch.distributed.fsdp.ShardingStrategy
torch.distributed.fsdp.StateDictType torch.distributed.fsdp.fully_shard
torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel
torch.distributed.fsdp.fully_sharded_data_parallel.MixedPrecision
torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler torch.distributed.fsdp.wrap.ModuleWrapPolicy
torch.distributed.fsdp.wrap.transformer_auto_wrap_policy torch.distributed.nn
torch.distributed.optim.ZeroRedundancyOptimizer torch.distributed.tensor.Replicate
torch.distributed.tensor.Shard torch.distributed.tensor.distribute_tensor
torch.distributed.tensor.parallel.ColwiseParallel torch.distributed.tensor.parallel.RowwiseParallel
torch.distributed.tensor.parallel.parallelize_module torch.float8_e4m3fnuz torch.float8_e5m2fnuz torch.fx
torch.fx.Graph torch.fx.GraphModule torch.fx.Interpreter torch.fx.Node torch.fx.Tracer
torch.fx.node.Argument torch.fx.node.Node torch.fx.symbolic_trace torch.fx.wrap torch.qint32 torch.qint8
torch.quint4x2 torch.quint8 torch.utils._python_dispatch.TorchDispatchMode
torch.utils._python_dispatch.is_traceable_wrapper_subclass torch.utils.cpp_extension._get_build_directory
torch.utils.data.IterDataPipe torch.utils.data.functional_datapipe
""".split()


def found(name):
    """What a name means: attributes, or modules that must be imported first."""
    value, parts = torch, name.split(".")
    for length, part in enumerate(parts[1:], 2):
        if not hasattr(value, part):
            importlib.import_module(".".join(["mindtorch_v2", *parts[1:length]]))
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("name", MOST_IMPORTED)
def test_the_names_that_packages_import_most_are_there(name):
    found(name)


@pytest.mark.parametrize(
    "module", sorted(name for name in NAMES if not name.startswith(("ops.", "_C.")) and name)
)
def test_every_module_of_the_table_can_be_imported_and_has_its_names(module):
    imported = importlib.import_module(f"mindtorch_v2.{module}")
    for name in making._entries(module):
        getattr(imported, name)


@pytest.mark.parametrize(
    "name",
    ("ops.c10d_functional.wait_tensor.default", "ops._c10d_functional.all_reduce_.default", "cuda.comm.broadcast",
     "functional.F.relu", "jit._script.RecursiveScriptModule", "distributed.nn.RemoteModule",
     "utils._pytree._namedtuple_unflatten", "utils._pytree._deque_flatten"),
)  # fmt: skip
def test_names_that_stopped_the_import_of_a_package_are_there(name):
    found(f"torch.{name}")


def test_a_function_says_its_name_the_reason_and_what_to_do():
    with pytest.raises(
        NotImplementedError,
        match=r"^torch.distributed.rpc.rpc_sync is not in this library: .* docs/distributed.md says what",
    ):
        importlib.import_module("mindtorch_v2.distributed.rpc").rpc_sync(torch.ones(1))


def test_a_class_may_be_derived_from_and_written_in_annotations_but_makes_no_objects():
    from mindtorch_v2.export import Dim, ExportedProgram

    class Own(ExportedProgram):
        def path(self, module: Dim | None = None) -> "list[ExportedProgram]": ...

    assert not isinstance(torch.nn.Linear(1, 1), Dim) and ExportedProgram[int] is ExportedProgram
    with pytest.raises(NotImplementedError, match="torch.export.ExportedProgram is not in this library"):
        Own()


def test_all_of_quantization_imports_under_its_old_names_too():
    from mindtorch_v2.nn.intrinsic.qat import ConvBn2d
    from mindtorch_v2.quantization.stubs import QuantStub

    from mindtorch_v2.ao.quantization import FakeQuantizeBase, default_dynamic_qconfig  # noqa: F401
    from mindtorch_v2.quantization import ObserverBase

    assert QuantStub is torch.ao.quantization.QuantStub  # marks are real
    assert not isinstance(torch.nn.Linear(1, 1), (FakeQuantizeBase, ObserverBase))
    with pytest.raises(NotImplementedError, match="no quantized tensors"):
        ConvBn2d(1, 1, 1)


def test_an_enumeration_has_its_members():
    from mindtorch_v2.distributed.fsdp import ShardingStrategy

    assert ShardingStrategy.FULL_SHARD is ShardingStrategy["FULL_SHARD"] is not ShardingStrategy.NO_SHARD


def test_a_mark_returns_what_it_marks():
    from mindtorch_v2.onnx.symbolic_helper import parse_args

    def function():
        return 3

    assert parse_args("v", "i")(function) is function
    assert torch.export.register_dataclass(function) is function


def test_questions_about_what_is_not_there_are_answered_no():
    assert not torch.onnx.is_in_onnx_export() and not torch.mps.is_available()
    assert torch._guards.active_fake_mode() is None  # who asks for a thing compares with None


def test_a_dtype_that_is_not_there_is_a_key_and_no_dtype():
    assert {torch.quint8: 1}[torch.quint8] == 1 and repr(torch.complex32) == "torch.complex32"
    with pytest.raises(
        TypeError, match="must be torch.dtype, not torch.quint8, which is not in this library"
    ):
        torch.zeros(2, dtype=torch.quint8)


def test_a_name_that_pytorch_has_not_either_is_an_attribute_error():
    for module in (torch, torch.fx, torch.distributed, torch.jit, torch._C):
        with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
            module.no_such_name  # noqa: B018 - asking is what is tested
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("mindtorch_v2.no_such_module")
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'no_such_name'"):
        torch.ops.aten.no_such_name  # noqa: B018


def test_a_file_wins_over_the_table():
    assert torch.distributed.is_available.__module__ == "mindtorch_v2.distributed.distributed_c10d"
    here = {"distributed", "jit", "utils", "nn", "autograd", "_C", "backends.cuda", "compiler"} & set(NAMES)
    for module in here:
        real = vars(importlib.import_module(f"mindtorch_v2.{module}"))
        made = {name for name in making._entries(module) if name in real}
        assert all(getattr(real[name], "__module__", "").startswith("torch") for name in made), made


def test_every_reason_is_that_of_some_name():
    for beginning in filter(None, REASONS):
        assert any(f"{name}.".startswith(f"{beginning}.") for name in NAMES), beginning


def test_the_table_is_not_read_when_the_package_is_imported():
    code = "import sys, mindtorch_v2; print([m for m in sys.modules if '_absent.' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_tensorboard_is_asked_for_by_its_name_where_it_is_missing():
    if importlib.util.find_spec("tensorboard") is None:
        with pytest.raises(ModuleNotFoundError, match="No module named 'tensorboard'"):
            importlib.import_module("mindtorch_v2.utils.tensorboard")
    else:
        assert torch.utils.tensorboard.SummaryWriter.add_scalar


def test_files_of_a_folder_are_attributes_without_an_import():
    """``torch.amp.grad_scaler.OptState`` after ``import torch`` alone, as packages write it."""
    names = (
        "amp.grad_scaler fx.config fx.experimental._config fx.passes.graph_drawer fx.passes.infra.pass_base "
        "fx.passes.split_module fx.passes.tools_common fx.passes.utils.matcher_utils nn.parallel._functions "
        "nn.modules.linear_cross_entropy_options nn.utils._named_member_accessor nn.utils.prune profiler.itt "
        "profiler.profiler utils._foreach_utils utils._mode_utils utils.checkpoint utils.data.datapipes.utils"
    )
    code = (
        "import operator, sys, mindtorch_v2 as torch\n"
        "for name in sys.argv[1:]:\n"
        "    print(operator.attrgetter(name)(torch).__name__)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, *names.split()], capture_output=True, text=True, check=True
    )
    assert [line.partition(".")[2] for line in answer.stdout.split()] == names.split()
    with pytest.raises(AttributeError, match="no attribute 'no_such_file'"):
        _ = torch.amp.no_such_file
