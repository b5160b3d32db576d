"""MINDTORCH_NPU_ALLOC_CONF: what is accepted, what is refused, and what the message says."""

import warnings

import pytest

from mindtorch_v2._backends.npu import allocator


def load(monkeypatch, text):
    monkeypatch.setenv("MINDTORCH_NPU_ALLOC_CONF", text)
    return allocator._load_alloc_conf(force=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max_split_size_mb:128", {"max_split_size_mb": 128}),
        (" max_split_size_mb : 8 , ", {"max_split_size_mb": 8}),
        (
            "max_split_size_mb:8,expandable_segments:False",
            {"max_split_size_mb": 8, "expandable_segments": False},
        ),
        ("garbage_collection_threshold:0.8", {"garbage_collection_threshold": 0.8}),
        ("per_process_memory_fraction:0", {"per_process_memory_fraction": 0.0}),
        ("roundup_power2_divisions:8", {"roundup_power2_divisions": 8}),
        ("roundup_power2_divisions:[256:1,>:8]", {"roundup_power2_divisions": {"256": 1, ">": 8}}),
        ("large_segment_size_mb:40", {"large_segment_size_mb": 40}),
        ("max_split_size_mb:1,max_split_size_mb:2", {"max_split_size_mb": 2}),
        ("", {}),
    ],
)
def test_good_values_are_parsed(monkeypatch, text, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(monkeypatch, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "max_split_size_mb",
        "max_split_size_mb:",
        ":5",
        "max_split_size_mb:0",
        "max_split_size_mb:-1",
        "max_split_size_mb:1.5",
        "max_split_size_mb:12x",
        "max_split_size_mb:99999999999999999999",
        "garbage_collection_threshold:0",
        "garbage_collection_threshold:1",
        "garbage_collection_threshold:nan",
        "garbage_collection_threshold:lots",
        "per_process_memory_fraction:1.1",
        "per_process_memory_fraction:-0.1",
        "expandable_segments:true",
        "throw_on_npumalloc_oom:1",
        "roundup_power2_divisions:3",
        "roundup_power2_divisions:[]",
        "roundup_power2_divisions:[256:1",
        "roundup_power2_divisions:[300:1]",
        "roundup_power2_divisions:[512:1,256:2]",
        "roundup_power2_divisions:[>:1,256:2]",
        "roundup_power2_divisions:[256]",
        "large_segment_size_mb:10",
    ],
)
def test_bad_values_are_refused_with_the_variable_and_the_text(monkeypatch, text):
    with pytest.raises(ValueError, match="MINDTORCH_NPU_ALLOC_CONF") as info:
        load(monkeypatch, text)
    assert text.split(":")[0] in str(info.value)


def test_a_refused_text_leaves_the_last_good_settings(monkeypatch):
    load(monkeypatch, "max_split_size_mb:64")
    with pytest.raises(ValueError):
        load(monkeypatch, "max_split_size_mb:none")
    assert allocator._load_alloc_conf() == {"max_split_size_mb": 64}


def test_variables_have_a_precedence(monkeypatch):
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:1")
    assert allocator._load_alloc_conf(force=True) == {"max_split_size_mb": 1}
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "max_split_size_mb:2")
    assert allocator._load_alloc_conf(force=True) == {"max_split_size_mb": 2}
    monkeypatch.setenv("PYTORCH_NPU_ALLOC_CONF", "max_split_size_mb:3")
    assert allocator._load_alloc_conf(force=True) == {"max_split_size_mb": 3}
    assert load(monkeypatch, "max_split_size_mb:4") == {"max_split_size_mb": 4}


def test_unknown_keys_give_one_warning_with_a_suggestion(monkeypatch):
    with pytest.warns(UserWarning) as caught:
        conf = load(monkeypatch, "max_split_size:5,max_page:1,max_split_size_mb:7")
    assert conf == {"max_split_size_mb": 7}
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "'max_page'" in text
    assert "did you mean 'max_split_size_mb'?" in text
    assert caught[0].filename == __file__


def test_keys_that_change_nothing_here_say_why(monkeypatch):
    with pytest.warns(UserWarning) as caught:
        load(monkeypatch, "page_size:1g,pinned_use_background_threads:True,max_split_size_mb:7")
    texts = [str(warning.message) for warning in caught]
    assert len(texts) == 2 and all("has no effect" in text for text in texts)
    assert "AscendCL chooses the pages" in texts[0]


def test_expandable_segments_say_so_where_they_have_no_effect(monkeypatch):
    load(monkeypatch, "expandable_segments:True")
    assert allocator.NpuAllocator()._native.settings()["expandable_segments"]
    monkeypatch.setattr(allocator._settings, "_refusal", lambda: "this driver cannot map memory")
    load(monkeypatch, "expandable_segments:True")
    with pytest.warns(UserWarning, match="no effect"):
        made = allocator.NpuAllocator()
    assert not made._native.settings()["expandable_segments"]


def test_keys_of_torch_npu_and_of_a_gpu_are_known(monkeypatch, recwarn):
    text = (
        "segment_size_mb:40,multi_stream_lazy_reclaim:True,backend:native,throw_on_cudamalloc_oom:True,"
        "release_lock_on_cudamalloc:True,release_lock_on_npumalloc:False"
    )
    load(monkeypatch, text)
    settings = allocator.NpuAllocator()._native.settings()
    assert settings["large_segment_size"] == 40 << 20
    assert settings["multi_stream_lazy_reclaim"] and settings["throw_on_npumalloc_oom"]
    assert len(recwarn) == 0
    with pytest.raises(ValueError, match="segment_size_mb must be a whole number of MiB from 20 to 512"):
        load(monkeypatch, "segment_size_mb:600")


def test_lazy_reclaim_looks_at_other_streams_only_when_nothing_fits(monkeypatch, make_device):
    load(monkeypatch, "multi_stream_lazy_reclaim:True")
    device = make_device(64 << 20)
    asked = []
    pool = device.attach(allocator.NpuAllocator())
    pool._event_complete = lambda event: asked.append(event) or True
    waiting, ready = pool.malloc(1000), pool.malloc(1000)
    pool.free(waiting, 7)
    pool.free(ready)
    pool.free(pool.malloc(1000))
    assert asked == []
    pool.malloc(40 << 20)  # nothing cached fits: the other stream is asked before the device
    assert len(asked) == 1


def test_settings_reach_the_allocator(monkeypatch):
    text = "max_split_size_mb:64,roundup_power2_divisions:[64:8,128:2,>:1],per_process_memory_fraction:0.5"
    load(monkeypatch, text)
    settings = allocator.NpuAllocator()._native.settings()
    assert settings["max_split_size"] == 64 << 20
    assert settings["per_process_memory_fraction"] == 0.5
    divisions = settings["roundup_power2_divisions"]
    assert [divisions[size] for size in ("1", "32", "64", "128", "256", "32768")] == [8, 8, 8, 2, 1, 1]
