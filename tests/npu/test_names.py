"""Every public name of torch.cuda, torch.cuda.memory, torch_npu.npu and torch.accelerator is there, or says why not."""

import pytest

import mindtorch_v2 as torch

# torch 2.13.0
CUDA = """
BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CharStorage CharTensor
ComplexDoubleStorage ComplexFloatStorage DoubleStorage DoubleTensor FloatStorage FloatTensor HalfStorage
HalfTensor IntStorage IntTensor LongStorage LongTensor ShortStorage ShortTensor CUDAGraph CudaError
DeferredCudaCallError Event ExternalStream Stream StreamContext GreenContext caching_allocator_alloc
caching_allocator_delete caching_allocator_disabled caching_allocator_enable can_device_access_peer check_error
cudaStatus cudart current_blas_handle current_solver_handle current_device current_stream default_generators
default_stream device device_count device_memory_used device_of empty_cache get_allocator_backend
CUDAPluggableAllocator change_current_allocator get_arch_list get_device_capability get_device_name
get_device_properties get_gencode_flags get_per_process_memory_fraction get_rng_state get_rng_state_all
get_stream_from_external get_sync_debug_mode graph graph_pool_handle graphs has_half has_magma host_memory_stats
host_memory_stats_as_nested_dict init initial_seed ipc_collect is_available is_bf16_supported
is_current_stream_capturing is_initialized is_tf32_supported jiterator list_gpu_processes make_graphed_callables
manual_seed manual_seed_all max_memory_allocated max_memory_cached max_memory_reserved mem_get_info memory
memory_allocated memory_cached memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict
memory_summary memory_usage MemPool use_mem_pool temperature power_draw clock_rate nccl nvtx profiler random
reset_accumulated_host_memory_stats reset_accumulated_memory_stats reset_max_memory_allocated
reset_max_memory_cached reset_peak_host_memory_stats reset_peak_memory_stats seed seed_all set_device
set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream set_sync_debug_mode sparse stream
streams synchronize tunable utilization
""".split()
CUDA_MEMORY = """
caching_allocator_alloc caching_allocator_delete caching_allocator_disabled caching_allocator_enable
get_per_process_memory_fraction set_per_process_memory_fraction empty_cache memory_stats
memory_stats_as_nested_dict reset_accumulated_memory_stats reset_peak_memory_stats reset_max_memory_allocated
reset_max_memory_cached host_memory_stats host_memory_stats_as_nested_dict reset_accumulated_host_memory_stats
reset_peak_host_memory_stats memory_allocated max_memory_allocated memory_reserved max_memory_reserved
memory_cached max_memory_cached memory_snapshot memory_summary list_gpu_processes mem_get_info
get_allocator_backend change_current_allocator MemPool use_mem_pool _record_memory_history _snapshot
_dump_snapshot _allocation_traceback _set_memory_metadata _get_memory_metadata _set_allocator_settings
_get_current_allocator
""".split()
# torch_npu 2.13.0
NPU = """
is_initialized init set_dump synchronize device_count can_device_access_peer set_device current_device
get_device_name get_device_properties get_device_capability mem_get_info is_available device device_of
StreamContext stream set_stream current_stream default_stream set_sync_debug_mode get_sync_debug_mode
set_task_queue_enable get_task_queue_enable init_dump utilization finalize_dump manual_seed manual_seed_all seed
seed_all initial_seed caching_allocator_alloc caching_allocator_delete get_per_process_memory_fraction
set_per_process_memory_fraction empty_cache empty_virt_addr_cache memory_stats memory_stats_as_nested_dict
reset_accumulated_memory_stats reset_peak_memory_stats reset_max_memory_allocated reset_max_memory_cached
memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached max_memory_cached
memory_snapshot memory_summary MemPool use_mem_pool get_allocator_backend NPUPluggableAllocator
change_current_allocator Stream Event set_option CubeMathType set_aoe set_compile_mode set_mm_bmm_format_nd
get_mm_bmm_format_nd get_npu_overflow_flag clear_npu_overflow_flag stress_detect get_rng_state set_rng_state
get_rng_state_all set_rng_state_all is_jit_compile_false get_amp_supported_dtype is_autocast_enabled
is_bf16_supported set_autocast_enabled get_autocast_dtype set_autocast_dtype BoolStorage ByteStorage ShortStorage
LongStorage IntStorage HalfStorage CharStorage DoubleStorage FloatStorage BoolTensor ByteTensor CharTensor
DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor BFloat16Tensor BFloat16Storage
current_blas_handle stop_device restart_device check_uce_in_memory config matmul conv
enable_deterministic_with_backward disable_deterministic_with_backward mstx SyncLaunchStream NPUGraph graph
graph_pool_handle is_current_stream_capturing make_graphed_callables ExternalEvent ExternalStream
graph_task_group_begin graph_task_group_end graph_task_update_begin graph_task_update_end set_device_limit
get_device_limit set_stream_limit reset_stream_limit get_stream_limit ipc_collect obfuscation_initialize
obfuscation_finalize obfuscation_calculate set_op_timeout_ms host_empty_cache host_memory_stats
host_memory_stats_as_nested_dict reset_accumulated_host_memory_stats reset_peak_host_memory_stats
set_deterministic_level use_compatible_impl are_compatible_impl_enabled NpuGraphOpHandler
register_npu_graph_handler super_kernel_scope_begin super_kernel_scope_end npurt
""".split()
ACCELERATOR = """
Graph current_accelerator current_device_idx current_device_index get_device_capability current_stream
device_count device_index empty_cache empty_host_cache get_memory_info is_available max_memory_allocated
max_memory_reserved memory_allocated memory_reserved memory_stats reset_accumulated_memory_stats
reset_peak_memory_stats set_device_idx set_device_index set_stream synchronize
""".split()


def answer(module, name):
    """ "there", "told why not", or "missing"."""
    try:
        getattr(module, name)
    except NotImplementedError as error:
        assert len(str(error)) > len(name) + 20, f"{name}: {error}"
        return "told why not"
    except AttributeError:
        return "missing"
    return "there"


@pytest.mark.parametrize("source", ["CUDA", "NPU"])
def test_every_name_of_torch_cuda_and_torch_npu_is_there_or_says_what_to_use(source):
    names = {"CUDA": CUDA, "NPU": NPU}[source]
    missing = [name for name in names if answer(torch.npu, name) == "missing"]
    assert missing == []


def test_nearly_every_name_of_torch_cuda_is_really_there():
    absent = {name for name in CUDA if answer(torch.npu, name) != "there"}
    assert absent == {
        "CUDAGraph", "CudaError", "DeferredCudaCallError", "GreenContext", "check_error", "cudaStatus", "cudart",
        "current_blas_handle", "current_solver_handle", "CUDAPluggableAllocator", "get_gencode_flags",
        "jiterator", "temperature", "power_draw", "clock_rate", "nccl", "nvtx", "sparse", "tunable",
    }  # fmt: skip


def test_the_memory_module_has_all_memory_functions():
    assert [name for name in CUDA_MEMORY if not hasattr(torch.npu.memory, name)] == []
    public = [name for name in CUDA_MEMORY if not name.startswith("_")]
    assert [name for name in public if getattr(torch.npu, name) is not getattr(torch.npu.memory, name)] == []


def test_the_accelerator_module_is_complete():
    assert [name for name in ACCELERATOR if answer(torch.accelerator, name) == "missing"] == []
    assert set(torch.accelerator.__all__) == set(ACCELERATOR)


def test_a_program_that_asks_whether_a_name_is_there_hears_no():
    assert not hasattr(torch.npu, "CUDAGraph") and getattr(torch.npu, "nvtx", None) is None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        torch.npu.no_such_name  # noqa: B018
    assert not hasattr(torch.accelerator, "no_such_name")


def test_classes_of_one_dtype_make_and_recognise_tensors_on_the_npu():
    x = torch.npu.FloatTensor(2, 3)
    assert x.device.type == "npu" and x.dtype == torch.float32 and x.shape == (2, 3)
    assert torch.npu.LongTensor([1, 2]).tolist() == [1, 2]
    assert isinstance(x, torch.npu.FloatTensor)
    assert not isinstance(x, torch.npu.HalfTensor) and not isinstance(torch.ones(1), torch.npu.FloatTensor)
    storage = torch.npu.HalfStorage(4)
    assert storage.device.type == "npu" and isinstance(storage, torch.npu.HalfStorage)


def test_the_accelerator_is_the_npu():
    assert torch.accelerator.is_available() and torch.accelerator.current_accelerator() == torch.device("npu")
    assert torch.accelerator.device_count() == torch.npu.device_count()
    assert torch.accelerator.current_device_index() == torch.npu.current_device()
    assert torch.accelerator.current_stream() == torch.npu.current_stream()
    assert torch.accelerator.get_memory_info()[1] == torch.npu.mem_get_info()[1]
    assert torch.accelerator.memory_allocated() == torch.npu.memory_allocated()
    assert torch.bfloat16 in torch.accelerator.get_device_capability()["supported_dtypes"]
    with torch.accelerator.device_index(0):
        torch.accelerator.synchronize("npu:0")
    with pytest.raises(ValueError, match="doesn't match the current accelerator npu"):
        torch.accelerator.synchronize("cpu")


def test_what_the_driver_does_not_tell_is_an_error_with_a_way_out():
    with pytest.raises(NotImplementedError, match="npu-smi"):
        torch.npu.temperature  # noqa: B018
    assert torch.npu.device_memory_used() == torch.npu.mem_get_info()[1] - torch.npu.mem_get_info()[0]
    torch.ones(1, device="npu")
    assert torch.npu.list_gpu_processes().startswith("NPU:0\n")


def test_permissions_change_nothing_but_themselves():
    torch.npu.config.allow_internal_format = False
    torch.npu.set_compile_mode(jit_compile=False)
    with pytest.raises(NotImplementedError, match="compiled ahead"):
        torch.npu.set_compile_mode(jit_compile=True)


def test_seeding_from_the_system_changes_the_numbers():
    torch.npu.manual_seed(1)
    torch.npu.seed()
    assert torch.npu.initial_seed() != 1
    assert len(torch.npu.default_generators) == torch.npu.device_count()
    torch.npu.manual_seed(1)
