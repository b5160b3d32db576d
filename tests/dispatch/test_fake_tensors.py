"""``FakeTensorMode``: programs run on shapes, dtypes and devices alone."""

import copy
import io

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._guards import detect_fake_mode
from mindtorch_v2._subclasses import CrossRefFakeMode, FakeTensor, FakeTensorMode
from mindtorch_v2._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeCopyMode,
    is_fake,
    unset_fake_temporarily,
)
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.recurrent = nn.LSTM(16, 12, batch_first=True)
        self.head = nn.Linear(12, 11)

    def forward(self, tokens):
        return self.head(self.recurrent(self.layer(self.embedding(tokens)))[0])


class Images(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.1),
            nn.ConvTranspose2d(8, 4, 2, stride=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 11),
        )  # fmt: skip


def step(model, data, target, optimizer):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(data).flatten(0, -2), target.flatten())
    loss.backward()
    optimizer.step()
    return loss


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad])
def test_models_are_made_and_trained_without_values(optimizer, device):
    with FakeTensorMode() as mode:
        for model, data, target in (
            (Block().to(device), torch.randint(0, 11, (4, 5), device=device), (4, 5)),
            (Images().to(device), torch.randn(4, 3, 8, 8, device=device), (4,)),
        ):
            labels = torch.zeros(target, dtype=torch.long, device=device)
            loss = step(model, data, labels, optimizer(model.parameters(), lr=0.1))
            assert isinstance(loss, FakeTensor) and loss.shape == () and loss.device.type == device
            for parameter in model.parameters():
                assert isinstance(parameter, FakeTensor) and isinstance(parameter, nn.Parameter)
                assert parameter.grad.shape == parameter.shape and parameter.grad.fake_mode is mode


def test_a_model_is_larger_than_memory():
    with FakeTensorMode():
        wide = nn.Linear(2**20, 2**22)
        assert wide(torch.empty(8, 2**20)).shape == (8, 2**22)


def test_the_results_of_operators_are_those_of_real_tensors_but_for_values():
    real = torch.randn(2, 3, 4).transpose(0, 1)
    mode = FakeTensorMode()
    fake = mode.from_tensor(real)
    assert (fake.shape, fake.stride(), fake.dtype, fake.device) == (
        real.shape, real.stride(), real.dtype, real.device,
    )  # fmt: skip
    for function in (
        torch.exp,
        lambda t: t.sum(1),
        lambda t: t.double() @ t.double().mT,
        lambda t: t[:, None, 1:],
    ):
        wanted, got = function(real), function(fake)
        assert isinstance(got, FakeTensor)
        assert (got.shape, got.stride(), got.dtype) == (wanted.shape, wanted.stride(), wanted.dtype)


def test_values_that_are_not_there_are_refused_with_the_operator():
    with FakeTensorMode():
        x = torch.randn(3)
        for asks in (
            lambda: x.sum().item(),
            lambda: bool(x.sum() > 0),
            lambda: x.tolist(),
            lambda: float(x[0]),
        ):
            with pytest.raises(DataDependentOutputException, match="aten._local_scalar_dense.default"):
                asks()
        with pytest.raises(DynamicOutputShapeException, match="aten.nonzero.default"):
            x.nonzero()
        with pytest.raises(DynamicOutputShapeException, match="aten.nonzero.default"):
            x[x > 0]
        with pytest.raises(DynamicOutputShapeException, match="aten.masked_select.default"):
            x.masked_select(x > 0)
        with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
            x.numpy()


def test_numbers_that_a_program_wrote_are_known_until_they_are_written_over():
    with FakeTensorMode():
        number = torch.tensor(3.0)
        assert isinstance(number, FakeTensor) and number.item() == 3.0
        number.add_(1)
        assert (number * 2).item() == 8.0
        number.add_(torch.rand(()))
        with pytest.raises(DataDependentOutputException):
            number.item()


def test_tensors_of_two_devices_do_not_meet_but_for_a_number_of_the_host():
    with FakeTensorMode():
        here, there = torch.ones(2), torch.ones(2, device="npu")
        with pytest.raises(RuntimeError, match="found at least two devices, cpu and npu:0"):
            here + there
        assert (there * torch.tensor(2.0)).device.type == "npu"
        assert here.to("npu").device == there.device and there.cpu().device.type == "cpu"


def test_real_tensors_are_refused_or_converted():
    real = torch.ones(2)
    with FakeTensorMode() as mode:
        with pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
            real + 1
        fake = mode.from_tensor(real)
    with pytest.raises(AssertionError, match="Found in aten.mul.Tensor"):
        fake * real
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert isinstance(real + 1, FakeTensor)
    with FakeTensorMode(), pytest.raises(AssertionError, match="Mixing fake modes"):
        fake + torch.ones(2)


def test_a_tensor_has_one_fake_tensor_and_views_share_theirs():
    mode, base = FakeTensorMode(), torch.zeros(4, 2)
    parameter = nn.Parameter(torch.zeros(3))
    parameter.grad = torch.ones(3)
    fake = mode.from_tensor(parameter)
    assert mode.from_tensor(parameter) is fake and isinstance(fake, nn.Parameter) and fake.is_leaf
    assert isinstance(fake.grad, FakeTensor)
    view = mode.from_tensor(base[1:])
    assert view.storage_offset() == 2
    assert view._elem.untyped_storage()._cdata == mode.from_tensor(base)._elem.untyped_storage()._cdata
    product = mode.from_tensor(parameter * 2)
    assert product.requires_grad and not product.is_leaf


def test_shapes_that_are_symbols_are_refused():
    with pytest.raises(NotImplementedError, match="no symbolic shapes"):
        FakeTensorMode(shape_env=object())
    with pytest.raises(NotImplementedError, match="no symbolic shapes"):
        FakeTensorMode().from_tensor(torch.ones(2), static_shapes=False)


def test_the_mode_is_found_and_can_be_left():
    assert detect_fake_mode() is None
    with FakeTensorMode() as mode:
        assert detect_fake_mode() is mode
        with unset_fake_temporarily() as left:
            assert left is mode and not is_fake(torch.ones(2))
        fake = torch.ones(2)
    assert is_fake(fake) and detect_fake_mode([fake, torch.ones(2)]) is mode
    with pytest.raises(AssertionError, match="doesn't match mode"):
        detect_fake_mode([fake, FakeTensorMode().from_tensor(torch.ones(2))])


def test_files_are_read_without_values():
    file = io.BytesIO()
    model = nn.Linear(3, 2)
    torch.save({"model": model.state_dict(), "step": 4}, file)
    file.seek(0)
    with FakeTensorMode():
        found = torch.load(file)
        assert found["step"] == 4 and all(isinstance(t, FakeTensor) for t in found["model"].values())
        again = nn.Linear(3, 2)
        again.load_state_dict(found["model"])
        assert again(torch.ones(3)).shape == (2,)


def test_modules_are_copied_into_fake_ones():
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    mode = FakeTensorMode()
    with FakeCopyMode(mode):
        fake = copy.deepcopy(model)
    assert all(isinstance(t, FakeTensor) for t in (*fake.parameters(), *fake.buffers()))
    assert not any(isinstance(t, FakeTensor) for t in model.parameters())
    with mode:
        assert fake(torch.ones(4, 3)).shape == (4, 2)


def test_fake_tensors_print_what_they_are():
    with FakeTensorMode():
        x = torch.ones(2, 3)
        assert repr(x) == "FakeTensor(..., size=(2, 3))"
        assert repr(x.long()) == "FakeTensor(..., size=(2, 3), dtype=torch.int64)"
        assert repr(x.npu()) == "FakeTensor(..., device='npu:0', size=(2, 3))"
        assert repr(nn.Parameter(x)) == "Parameter(FakeTensor(..., size=(2, 3), requires_grad=True))"
        assert repr(x.requires_grad_() * 2) == "FakeTensor(..., size=(2, 3), grad_fn=<MulBackward0>)"


def test_other_modes_see_the_operators_of_fake_tensors():
    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    names = []
    with FakeTensorMode(), Seen():
        assert isinstance(torch.ones(2).exp(), FakeTensor)
    assert names == ["aten.ones.default", "aten.exp.default"]


def test_real_operators_are_compared_with_fake_ones():
    with CrossRefFakeMode():
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
        model(torch.randn(2, 1, 4, 4)).sum().backward()


def test_programs_of_many_kinds_run_without_values():
    import numpy

    with FakeTensorMode():
        x = torch.rand(2, 3)
        x[x > 0.5] = 1
        assert isinstance(torch.from_numpy(numpy.ones(3)), FakeTensor)
        assert torch.rand(4, 4).resize_as_(torch.rand(8, 8)).shape == (8, 8)
        assert torch.rand(4, 3).t_().shape == (3, 4) and torch.rand(4, 1).squeeze_().shape == (4,)
        y = torch.utils.checkpoint.checkpoint(torch.exp, x.clone().requires_grad_(), use_reentrant=False)
        y.sum().backward()
        assert isinstance(torch.get_rng_state(), torch.Tensor) and not is_fake(torch.get_rng_state())
        assert torch.linalg.cholesky(torch.eye(3)).shape == (3, 3)
        assert torch.add(x, x, out=torch.empty(0)).shape == (2, 3)
        assert torch.nn.Linear(2, 2).double().weight.dtype is torch.float64
