"""Results of functional collectives wait for their collective when they are used first."""

import worlds


def test_a_result_waits_at_its_first_use_and_windows_do_not():
    worlds.check(
        """
        from mindtorch_v2.distributed import _functional_collectives as functional
        Later = functional.AsyncCollectiveTensor
        group = dist.group.WORLD
        if rank == 0:
            began = time.monotonic()
            result = functional.all_reduce(torch.arange(6.0), "sum", group)  # rank 1 has not called it
            window = result.view(2, 3)[1]
            assert type(result) is Later and type(window) is Later and not result.completed and window.shape == (3,)
            dist.send(torch.ones(1), 1)
        else:
            dist.recv(torch.ones(1), 0)
            result = functional.all_reduce(torch.arange(6.0), "sum", group)
            window = result.view(2, 3)[1]
        more = window + 1
        assert type(more) is torch.Tensor and result.completed and window.completed
        assert more.tolist() == [7.0, 9.0, 11.0] and result.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        assert repr(functional.all_reduce(torch.ones(2), "max", group)) == "AsyncCollectiveTensor(tensor([1., 1.]))"

        kinds = [
            functional.broadcast(torch.full((2,), rank + 1.0), 1, group),
            functional.all_gather_tensor(torch.full((1,), rank + 1.0), 0, group),
            functional.reduce_scatter_tensor(torch.tensor([1.0, 2.0]), "sum", 0, group),
            functional.all_to_all_single(torch.tensor([1.0, 2.0]) + rank, None, None, group),
            functional.permute_tensor(torch.tensor([rank + 1.0]), [1, 0], group),
            *functional.all_reduce_coalesced([torch.ones(1)], "sum", group),
        ]
        assert all(type(each) is Later for each in kinds)
        wanted = [[2.0, 2.0], [1.0, 2.0], [2.0 + 2 * rank], [1.0 + rank, 2.0 + rank], [2.0 - rank], [2.0]]
        assert [functional.wait_tensor(each).tolist() for each in kinds] == wanted
        assert type(functional.wait_tensor(kinds[0])) is torch.Tensor and kinds[1].sum().item() == 3.0

        leaf = torch.tensor([1.0, 2.0], requires_grad=True)
        result = functional.all_reduce(leaf * 3, "sum", group)
        assert type(result) is Later and result.requires_grad
        (functional.wait_tensor(result) * (rank + 1)).sum().backward()
        assert leaf.grad.tolist() == [9.0, 9.0]
        leaf.grad = None
        (functional.all_gather_tensor(leaf, 0, group) * (rank + 1)).sum().backward()
        assert leaf.grad.tolist() == [3.0, 3.0]
        """
    )
