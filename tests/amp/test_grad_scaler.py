"""GradScaler: scales, steps that are left out, state."""

import pickle

import pytest

import mindtorch_v2 as torch


def setup(device="cpu", **options):
    scaler = torch.amp.GradScaler(device, init_scale=4.0, growth_interval=2, **options)
    param = torch.ones(2, device=device, requires_grad=True)
    return scaler, param, torch.optim.SGD([param], lr=0.5)


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_a_step_with_an_infinity_is_left_out_and_halves_the_scale(device):
    scaler, param, optimizer = setup(device)
    scaler.scale((param * torch.tensor([1.0, float("inf")], device=device)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert param.tolist() == [1.0, 1.0] and scaler.get_scale() == 2.0


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_the_scale_grows_after_enough_good_steps(device):
    scaler, param, optimizer = setup(device)
    for expected in (4.0, 8.0, 8.0, 16.0):
        optimizer.zero_grad()
        scaler.scale(param.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == expected
    assert param.tolist() == [-1.0, -1.0]


def test_unscaled_gradients_can_be_looked_at():
    scaler, param, optimizer = setup()
    scaler.scale((param * 3).sum()).backward()
    assert param.grad.tolist() == [12.0, 12.0]
    scaler.unscale_(optimizer)
    assert param.grad.tolist() == [3.0, 3.0]
    scaler.step(optimizer)
    assert param.tolist() == [-0.5, -0.5]


def test_containers_keep_their_types():
    scaler, _, _ = setup()
    assert [t.item() for t in scaler.scale([torch.tensor(1.0), torch.tensor(2.0)])] == [4.0, 8.0]
    assert isinstance(scaler.scale((torch.tensor(1.0),)), tuple)
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)


def test_a_scaler_that_is_off_does_nothing():
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    loss = torch.tensor(2.0)
    assert scaler.scale(loss) is loss and scaler.state_dict() == {} and scaler.get_scale() == 1.0
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not torch.amp.GradScaler().is_enabled()


def test_the_scale_can_be_set():
    scaler, param, optimizer = setup()
    scaler.scale(param.sum()).backward()
    scaler.step(optimizer)
    scaler.update(32.0)
    assert scaler.get_scale() == 32.0
    scaler.update(torch.tensor(16.0))
    assert scaler.get_scale() == 16.0


def test_state_goes_on_in_another_scaler_and_through_pickle():
    scaler, param, optimizer = setup()
    scaler.scale(param.sum()).backward()
    scaler.step(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning of an iteration"):
        pickle.dumps(scaler)
    scaler.update()
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict() == pickle.loads(pickle.dumps(scaler)).state_dict()
