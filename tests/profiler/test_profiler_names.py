"""Names, options and older doors of the profiler: they work, or say what to use."""

import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import torch_npu
from mindtorch_v2.profiler import ProfilerActivity, profile

CPU = [ProfilerActivity.CPU]


def recorded(**options):
    with profile(activities=CPU, **options) as prof:
        torch.ones(2) + 1
    return prof


def test_every_public_name_is_listed_and_can_be_had():
    assert set(torch.profiler.__all__) <= set(dir(torch.profiler))
    for name in dir(torch.profiler):
        getattr(torch.profiler, name)


def test_the_configuration_that_brings_stacks_in_pytorch_is_taken():
    config = torch._C._profiler._ExperimentalConfig(verbose=True, profile_all_threads=True)
    assert isinstance(config, torch.profiler._ExperimentalConfig)
    prof = recorded(with_stack=True, experimental_config=config)
    assert next(e for e in prof.events() if e.name == "aten::add").stack


@pytest.mark.parametrize(
    "options", [{"profiler_metrics": ["kineto__cuda_core_flops"]}, {"record_python_gc_info": True}]
)
def test_configurations_that_cannot_be_met_are_refused(options):
    with pytest.raises(NotImplementedError, match=f"leave {next(iter(options))} out"):
        recorded(experimental_config=torch.profiler._ExperimentalConfig(**options))
    with pytest.raises(TypeError, match="experimental_config must be a"):
        recorded(experimental_config={"verbose": True})


def test_a_trace_alone_can_be_asked_for(tmp_path):
    prof = recorded(experimental_config=torch.profiler._ExperimentalConfig(trace_only=True))
    with pytest.raises(RuntimeError, match="events.. is not available when trace_only=True"):
        prof.events()
    prof.export_chrome_trace(tmp_path / "trace.json")
    assert "aten::add" in (tmp_path / "trace.json").read_text()


def test_observers_are_told_of_begin_and_end():
    class Observer:
        def __init__(self):
            self.told = []

        def start(self):
            self.told.append("start")

        def stop(self):
            self.told.append("stop")

        def cleanup(self):
            self.told.append("cleanup")

    observer = Observer()
    recorded(execution_trace_observer=observer)
    assert observer.told == ["start", "stop", "cleanup"]


def test_what_is_not_offered_says_what_to_use(monkeypatch):
    with pytest.raises(NotImplementedError, match="export_chrome_trace"):
        torch.profiler.ExecutionTraceObserver()
    assert torch.profiler.ExecutionTraceObserver.build_execution_trace_obs_from_env() is None
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE", "1")
    with pytest.raises(NotImplementedError, match="export_chrome_trace"):
        profile(activities=CPU)
    monkeypatch.delenv("ENABLE_PYTORCH_EXECUTION_TRACE")
    with pytest.raises(NotImplementedError, match="_record_memory_history"):
        recorded().export_memory_timeline("memory.html")
    with pytest.raises(NotImplementedError, match="prof.export_chrome_trace"):
        recorded().events().export_chrome_trace("trace.json")
    with pytest.raises(NotImplementedError, match="nvprof"):
        torch.autograd.profiler.load_nvprof("file")
    with pytest.raises(NotImplementedError, match="recorded whole"):
        profile(activities=[{ProfilerActivity.CPU: ["cpu_op"]}])


def test_marks_for_tools_of_other_vendors_fail_as_in_pytorch():
    assert not torch.profiler.itt.is_available()
    with pytest.raises(RuntimeError, match="ITT functions not installed"):
        with torch.profiler.itt.range("x"):
            pass
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.cuda.profiler.start()


def test_the_parts_of_a_recording_can_be_called_one_by_one():
    prof = torch.profiler._KinetoProfile(activities=CPU)
    with pytest.raises(AssertionError, match="Profiler must be initialized before starting trace"):
        prof.start_trace()
    prof.prepare_trace()
    torch.ones(2) * 2
    prof.start_trace()
    torch.ones(2) + 1
    prof.stop_trace()
    names = {e.name for e in prof.events()}
    assert "aten::add" in names and "aten::mul" not in names


def test_the_recorder_inside_has_the_sums_that_tutorials_print():
    prof = recorded()
    assert prof.profiler.self_cpu_time_total == prof.events().self_cpu_time_total > 0
    assert prof.profiler.total_average().count == len(prof.events())
    assert prof.profiler.function_events is prof.events()
    assert str(prof.profiler) == prof.profiler.table()
    assert str(torch.profiler._KinetoProfile(activities=CPU)._recording).startswith("<unfinished")


def test_collection_can_be_switched_off_and_on_again():
    with profile() as prof:
        x = torch.ones(2, device="npu")
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU, ProfilerActivity.NPU])
        x * 2
        prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        x + 1
        prof.toggle_collection_dynamic(True, [ProfilerActivity.NPU])
        x - 1
    names = {e.name for e in prof.events()}
    assert "aten::mul" not in names and {"aten::add", "aten::sub"} <= names
    tasks = {e.name for e in prof.events() if e["kind"] == "task"}
    assert "aclnnSubs" in tasks and not {"aclnnMuls", "aclnnAdds"} & tasks


def test_a_recording_in_progress_can_be_asked_for():
    assert not torch.autograd._profiler_enabled() and not torch.autograd.profiler._is_profiler_enabled
    with profile(activities=CPU):
        assert torch.autograd._profiler_enabled() and torch.autograd.profiler._is_profiler_enabled


def test_metadata_must_be_text():
    with pytest.raises(TypeError, match="must be a str, got int"):
        profile(activities=CPU).add_metadata("answer", 42)


def test_programs_for_torch_npu_find_their_names():
    config = torch_npu.profiler._ExperimentalConfig(
        profiler_level=torch_npu.profiler.ProfilerLevel.Level1,
        aic_metrics=torch_npu.profiler.AiCMetrics.PipeUtilization,
        export_type=[torch_npu.profiler.ExportType.Text],
    )
    activities = [torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU]
    with pytest.warns(UserWarning, match="aic_metrics ask for data of CANN's profiler"):
        prof = torch_npu.profiler.profile(activities=activities, experimental_config=config)
    with prof:
        torch.ones(2, device="npu") + 1
    assert "aclnnAdds" in {e.name for e in prof.events()}
    assert torch_npu.profiler.ProfilerLevel.Level2 in torch_npu.profiler.supported_profiler_level()
    with pytest.raises(ValueError, match="must be one of"):
        torch_npu.profiler._ExperimentalConfig(profiler_level=7)


def test_traces_of_torch_npu_programs_go_where_they_say(tmp_path):
    handler = torch_npu.profiler.tensorboard_trace_handler(str(tmp_path), "worker", analyse_flag=True)
    with torch_npu.profiler.profile(activities=CPU, on_trace_ready=handler):
        torch.ones(2) + 1
    assert [path.name.startswith("worker.") for path in tmp_path.iterdir()] == [True]


def test_torch_npu_s_offline_tools_are_refused():
    with pytest.raises(NotImplementedError, match="complete as they are"):
        torch_npu.profiler.profiler.analyse("folder")
    with pytest.raises(NotImplementedError, match="schedule"):
        from mindtorch_v2.torch_npu.profiler import dynamic_profile  # noqa: F401


def test_a_second_cycle_warns_once_that_it_replaces_the_first():
    torch.profiler._kineto_profile._warned.clear()
    plan = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with profile(activities=CPU, schedule=plan) as prof:
            for _ in range(6):
                prof.step()
    assert [str(w.message)[:56] for w in caught] == [
        "Warning: Profiler clears events at the end of each cycle"
    ]
