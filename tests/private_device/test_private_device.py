"""A second accelerator that no line outside its folder knows (docs/adding_a_device.md): everything works on it."""


def test_tensors_and_copies_go_to_the_device_and_back(run):
    run(
        """
        x = torch.arange(12.0).reshape(3, 4)
        there = x.to("privateuseone")
        assert there.device == torch.device("privateuseone:0") and there.is_privateuseone and not there.is_cpu
        assert torch.equal(there.cpu(), x)
        assert torch.equal(there.t().contiguous().cpu(), x.t())
        assert torch.equal(there.to(torch.int64).cpu(), x.to(torch.int64))
        assert there[1, 2].item() == 6.0
        other = there.to("privateuseone:1")
        assert other.device.index == 1 and torch.equal(other.cpu(), x)
        big = torch.randn(5_000_000)
        assert torch.equal(big.to("privateuseone").cpu(), big)
        """
    )


def test_operators_run_on_its_streams_and_have_gradients(run):
    run(
        """
        torch.manual_seed(0)
        nn = torch.nn
        model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))
        data, labels = torch.randn(32, 8), torch.randint(3, (32,))

        def losses(device):
            import copy
            mine = copy.deepcopy(model).to(device)
            optimizer = torch.optim.AdamW(mine.parameters(), lr=1e-2)
            found = []
            for _ in range(5):
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(mine(data.to(device)), labels.to(device))
                loss.backward()
                optimizer.step()
                found.append(loss.item())
            return found

        # The host's step is one kernel, the device's a chain of operators: last bits differ.
        assert all(abs(a - b) < 1e-6 for a, b in zip(losses("privateuseone"), losses("cpu"), strict=True))
        """
    )


def test_a_kernel_that_fails_is_reported_by_the_next_wait(run):
    run(
        """
        a = torch.zeros(4, device="privateuseone")
        bad = a.index_select(0, torch.tensor([9], device="privateuseone"))
        try:
            torch.privateuseone.synchronize()
        except torch.AcceleratorError as error:
            assert "hostSynchronize failed" in str(error) and error.error_code == 1, error
        else:
            raise AssertionError("an index beyond the end was not noticed")
        assert a.sum().item() == 0  # and the device goes on
        """
    )


def test_streams_run_beside_each_other_and_wait_for_events(run):
    run(
        """
        device = torch.privateuseone
        side, first = device.Stream(), device.current_stream()
        assert side != first and side.device.type == "privateuseone"
        x = torch.full((2_000_000,), 2.0, device="privateuseone")
        for _ in range(20):
            x = x * 1.0
        done = first.record_event()
        with device.stream(side):
            side.wait_event(done)
            y = x + 1
            assert device.current_stream() == side
            x.record_stream(side)
        first.wait_stream(side)
        assert (y.sum() / y.numel()).item() == 3.0
        begin, end = device.Event(enable_timing=True), device.Event(enable_timing=True)
        begin.record(); z = x * 2; end.record(); end.synchronize()
        assert end.query() and begin.elapsed_time(end) > 0
        with device.device(1):
            assert torch.zeros(1, device="privateuseone").device.index == 1
        """
    )


def test_copies_of_pinned_memory_are_in_stream_order(run):
    run(
        """
        device = torch.device("privateuseone")
        pinned = torch.zeros(1).pin_memory(device)
        assert pinned.is_pinned()
        for number in range(50):
            busy = torch.randn(300, 300, device=device) @ torch.randn(300, 300, device=device)
            source = torch.full((1,), float(number), device=device) + busy[:1, 0] * 0
            pinned.copy_(source, non_blocking=True)
            back = torch.empty(1, device=device)
            back.copy_(pinned, non_blocking=True)
            assert back.item() == number
        """
    )


def test_the_allocator_caches_counts_and_explains_what_is_full(run):
    run(
        """
        device = torch.privateuseone
        x = torch.zeros(1 << 20, device="privateuseone")
        assert device.memory_allocated() == 4 << 20 and device.memory_reserved() >= 4 << 20
        address = x.data_ptr()
        del x
        assert device.memory_allocated() == 0 and device.memory_reserved() >= 4 << 20
        assert torch.zeros(1 << 20, device="privateuseone").data_ptr() == address
        try:
            torch.zeros(40 << 20, device="privateuseone")
        except torch.OutOfMemoryError as error:
            text = str(error)
            assert text.startswith("Private device out of memory. Tried to allocate 160.00 MiB"), text
            assert "hostMalloc failed: 2 (no room)" in text, text
        else:
            raise AssertionError("more memory than the device has was handed out")
        assert device.memory_stats()["num_ooms"] > 0
        device.empty_cache()
        assert device.memory_reserved() == 0 and device.mem_get_info() == (64 << 20, 64 << 20)
        assert "Allocated memory" in device.memory_summary()
        """
    )


def test_the_profiler_sees_its_operators_kernels_copies_and_memory(run, tmp_path):
    run(
        f"""
        import json
        x = torch.randn(64, 64, device="privateuseone")
        with torch.profiler.profile(profile_memory=True) as recorded:
            y = (x @ x).relu()
            z = y.cpu()
        names = {{event.name for event in recorded.events()}}
        assert {{"aten::mm", "aten::relu", "hostLaunch", "hostSynchronize"}} <= names, names
        kernels = [event for event in recorded.events() if event.name.startswith("aten::") and event.device_time > 0]
        assert kernels and all(event.device_index == 0 for event in kernels)
        made = [event for event in recorded.events() if event.name == "aten::mm"]
        assert made[0].device_memory_usage == 64 * 64 * 4
        recorded.export_chrome_trace({str(tmp_path / "trace.json")!r})
        trace = json.load(open({str(tmp_path / "trace.json")!r}))
        assert trace["deviceProperties"][0]["name"] == "Host"
        assert any(event.get("cat") == "kernel" for event in trace["traceEvents"])
        """
    )


def test_random_numbers_follow_the_devices_seed(run):
    run(
        """
        torch.manual_seed(3)
        first = torch.randn(100, device="privateuseone").cpu()
        torch.manual_seed(3)
        assert torch.equal(torch.randn(100, device="privateuseone").cpu(), first)
        assert not torch.equal(torch.randn(100, device="privateuseone").cpu(), first)
        generator = torch.Generator("privateuseone").manual_seed(5)
        a = torch.rand(10, generator=generator, device="privateuseone")
        generator.manual_seed(5)
        assert torch.equal(torch.rand(10, generator=generator, device="privateuseone").cpu(), a.cpu())
        assert abs(torch.randn(200_000, device="privateuseone").std().item() - 1) < 0.02
        """
    )


def test_autocast_and_saved_files_know_the_device(run, tmp_path):
    run(
        f"""
        a = torch.randn(4, 4, device="privateuseone")
        with torch.autocast("privateuseone", dtype=torch.bfloat16):
            assert (a @ a).dtype == torch.bfloat16
        torch.save({{"a": a}}, {str(tmp_path / "a.pt")!r})
        loaded = torch.load({str(tmp_path / "a.pt")!r})["a"]
        assert loaded.device == a.device and torch.equal(loaded.cpu(), a.cpu())
        """
    )


def test_the_device_has_another_name_when_a_program_gives_it_one(run):
    run(
        """
        torch.utils.rename_privateuse1_backend("mine")
        torch._register_device_module("mine", private_device)
        torch.utils.generate_methods_for_privateuse1_backend()
        x = torch.ones(3, device="mine:1")
        assert str(x.device) == "mine:1" and x.is_mine and repr(x) == "tensor([1., 1., 1.], device='mine:1')"
        assert torch.ones(2).mine().device.type == "mine" and torch.nn.Linear(1, 1).mine().weight.is_mine
        assert torch.device("privateuseone", 0) == torch.device("mine:0")
        torch.mine.synchronize()
        """,
        register=False,
    )


def test_two_kinds_of_accelerator_share_a_process_and_a_graph(run):
    run(
        """
        a = torch.tensor([1.0, 2.0], device="npu", requires_grad=True)
        b = (a * 3).to("privateuseone") ** 2
        c = b.to("npu").sum()
        c.backward()
        assert a.grad.device.type == "npu" and a.grad.tolist() == [18.0, 36.0]
        """
    )


def test_a_driver_without_graphs_says_so(run):
    run(
        """
        graph = torch.privateuseone.Graph()
        with torch.privateuseone.Stream() as stream:
            assert not stream.is_capturing()
            try:
                graph.capture_begin()
            except NotImplementedError as error:
                assert "privateuseone:0 cannot capture graphs" in str(error), error
            else:
                raise AssertionError("it has no graphs")
        assert (torch.ones(3, device="privateuseone") + 1).tolist() == [2.0] * 3
        """
    )
