"""Complex tensors: parts, views, errors, and gradients by PyTorch's convention."""

import numpy as np
import pytest

import mindtorch_v2 as torch


def complex_tensor(*shape, dtype=torch.complex128, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return torch.tensor(values.tolist(), dtype=dtype)


def numeric_gradient(function, x, step=1e-6):
    """dL/da + i dL/db of a real-valued function, by differences."""
    flat = x.detach().numpy().copy().ravel()
    gradient = np.zeros_like(flat)
    for i in range(flat.size):
        for direction in (1, 1j) if np.iscomplexobj(flat) else (1,):
            ends = []
            for sign in (1, -1):
                moved = flat.copy()
                moved[i] += sign * step * direction
                ends.append(function(torch.from_numpy(moved.reshape(x.shape))).item())
            gradient[i] += direction * (ends[0] - ends[1]) / (2 * step)
    return gradient.reshape(x.shape)


def size_of(y):
    return (y * y.conj()).real.sum() + (y * (0.3 + 0.7j)).real.sum()


FUNCTIONS = {
    "mul": lambda z: z * z.conj() * (1 + 2j),
    "div": lambda z: (1 + 1j) / z + z / (2 - 1j),
    "pow": lambda z: z**3 + z ** (1.5 + 0.5j),
    "exp": torch.exp,
    "log": torch.log,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "abs": lambda z: z.abs() + 0j,
    "angle": lambda z: z.angle() + 0j,
    "sgn": torch.sgn,
    "prod": lambda z: z.prod(0),
    "mm": lambda z: torch.mm(z, z.H),
    "parts": lambda z: z.real * z.imag + 1j * z.imag,
    "polar": lambda z: torch.polar(z.abs(), z.angle()) * z,
    "fft": lambda z: torch.fft.fft(z, n=4, dim=1),
    "irfft": lambda z: torch.fft.irfft(z, dim=1) + 0j,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_gradients_agree_with_differences(name):
    z = complex_tensor(2, 3).requires_grad_()
    size_of(FUNCTIONS[name](z)).backward()
    wanted = numeric_gradient(lambda x: size_of(FUNCTIONS[name](x)), z)
    np.testing.assert_allclose(z.grad.numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_a_real_input_of_a_complex_operator_gets_a_real_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * (2 + 3j)).imag.sum().backward()
    assert x.grad.dtype == torch.float32
    assert x.grad.tolist() == [3.0, 3.0]


def test_second_derivatives_pass_through_complex_numbers():
    z = complex_tensor(3).requires_grad_()
    (first,) = torch.autograd.grad((z * z * z).real.sum(), z, create_graph=True)
    np.testing.assert_allclose(first.detach().numpy(), np.conj(3 * z.detach().numpy() ** 2))
    (second,) = torch.autograd.grad(first.real.sum(), z)
    np.testing.assert_allclose(second.numpy(), np.conj(6 * z.detach().numpy()))


def test_backward_from_a_complex_scalar_needs_a_gradient():
    z = complex_tensor(3).requires_grad_()
    with pytest.raises(RuntimeError, match="only for real scalar outputs but got torch.complex128"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (z * 2).backward()


def test_the_seed_of_a_complex_output_must_be_complex():
    z = complex_tensor(3).requires_grad_()
    with pytest.raises(RuntimeError, match="are required to have the same dtype"):
        (z * 2).backward(torch.ones(3))
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="has a dtype of torch.complex64 and output"):
        (x * 2).backward(torch.ones(3, dtype=torch.complex64))


def test_parts_are_windows_on_the_number():
    z = torch.tensor([1 + 2j, 3 + 4j])
    z.real.mul_(10)
    z.imag = torch.tensor([5.0, 6.0])
    assert z.tolist() == [10 + 5j, 30 + 6j]
    z.real = 0
    assert z.tolist() == [5j, 6j]
    pairs = torch.view_as_real(z)
    assert pairs.shape == (2, 2) and pairs.data_ptr() == z.data_ptr()
    assert torch.view_as_complex(pairs).data_ptr() == z.data_ptr()


def test_writing_a_part_reaches_the_gradient_of_the_whole():
    z = complex_tensor(3)
    z.requires_grad_()
    whole = z * 1
    whole.real.mul_(2)
    whole.imag.add_(whole.real)
    (whole * whole.conj()).real.sum().backward()

    def by_hand(x):
        real = 2 * x.real
        imaginary = x.imag + real
        return (real * real + imaginary * imaginary).sum()

    np.testing.assert_allclose(z.grad.numpy(), numeric_gradient(by_hand, z), rtol=1e-6, atol=1e-6)


def test_writing_complex_pairs_reaches_the_gradient_of_the_reals():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    whole = x * 1
    torch.view_as_complex(whole)[1].mul_(2j)
    whole[1, 0].backward()  # the real part of (a + bi) 2i is -2b
    assert x.grad.tolist() == [[0.0, 0.0], [0.0, -2.0]]


def test_a_view_taken_before_a_write_sees_it_in_backward():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    base = x * 1
    flat = base.view(4)
    base[0].mul_(2)
    (gradient,) = torch.autograd.grad((flat * flat).sum(), x)
    assert gradient.tolist() == [[8.0, 16.0], [6.0, 8.0]]


def test_real_tensors_are_their_own_conjugate_and_real_part():
    x = torch.ones(3)
    assert torch.conj(x) is x
    assert torch.conj_physical(x) is x
    assert x.conj_physical_() is x
    assert x.real is x
    assert torch.resolve_conj(x) is x
    assert not x.is_conj() and not x.is_neg()


def test_conj_physical_writes_in_place():
    z = torch.tensor([1 + 2j])
    assert z.conj_physical_() is z
    assert z.tolist() == [1 - 2j]


def test_abs_and_angle_of_complex_numbers_are_real():
    z = torch.tensor([3 + 4j, 0j, -1 + 0j])
    assert z.abs().dtype == torch.float32
    np.testing.assert_allclose(z.abs().numpy(), [5, 0, 1])
    np.testing.assert_allclose(z.angle().numpy(), [np.arctan2(4, 3), 0, np.pi], rtol=1e-6)
    assert torch.empty(3, dtype=torch.complex128, device="meta").abs().dtype == torch.float64
    assert torch.angle(torch.tensor([1, -1])).dtype == torch.float32


def test_abs_in_place_of_complex_numbers_is_refused():
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors"):
        torch.tensor([1j]).abs_()


@pytest.mark.parametrize(
    ("make", "message"),
    {
        "reals as reals": (lambda: torch.view_as_real(torch.ones(2)), "only supported for complex tensors"),
        "three in a row": (lambda: torch.view_as_complex(torch.ones(2, 3)), "last dimension of size 2"),
        "no dimension": (lambda: torch.view_as_complex(torch.tensor(1.0)), "one or more dimensions"),
        "pairs apart": (lambda: torch.view_as_complex(torch.ones(2, 2).t()), "last dimension with stride 1"),
        "odd stride": (lambda: torch.view_as_complex(torch.ones(3, 5)[:, :2]), "stride divisible by 2"),
        "odd offset": (lambda: torch.view_as_complex(torch.ones(3, 6)[:, 1:3]), "offset divisible by 2"),
        "integers": (lambda: torch.view_as_complex(torch.ones(2, 2, dtype=torch.int64)), "scalar type: Long"),
        "imag of reals": (lambda: torch.ones(2).imag, "imag is not implemented for tensors with non-complex"),
        "mixed parts": (lambda: torch.complex(torch.ones(2), torch.ones(2).double()), "type Float but got"),
        "integer parts": (
            lambda: torch.complex(torch.ones(2).long(), torch.ones(2).long()),
            "Half, Float or Double tensors but got Long and Long",
        ),
        "H of a batch": (lambda: torch.ones(2, 2, 2).H, "consider using tensor.mH"),
        "mH of a vector": (lambda: torch.ones(2).mH, "tensor.mH is only supported on matrices"),
        "vdot of two types": (lambda: torch.vdot(torch.ones(2), torch.ones(2).cfloat()), "same dtype"),
    }.values(),
)  # fmt: skip
def test_what_complex_operators_cannot_take_is_an_error(make, message):
    with pytest.raises(RuntimeError, match=message):
        make()


def test_complex_numbers_have_no_order():
    z = torch.tensor([1j, 2j])
    for compare in (torch.lt, torch.ge, torch.maximum):
        with pytest.raises((RuntimeError, NotImplementedError)):
            compare(z, z)
    assert (z == torch.tensor([1j, 0j])).tolist() == [True, False]


def test_complex_parts_broadcast_and_write_into_out():
    out = torch.empty(2, 3, dtype=torch.complex64)
    made = torch.complex(torch.ones(2, 1), torch.zeros(3), out=out)
    assert made is out and out.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_adjoint_conjugates_and_turns():
    z = complex_tensor(2, 3, 4)
    np.testing.assert_array_equal(z.mH.numpy(), np.conj(z.numpy().transpose(0, 2, 1)))
    np.testing.assert_array_equal(z[0].H.numpy(), np.conj(z.numpy()[0].T))


def test_whole_powers_of_zero_have_values():
    z = torch.tensor([0j, 1 + 2j])
    assert (z**0).tolist() == [1, 1]
    assert (z**2).tolist() == [0, -3 + 4j]


def test_a_number_with_an_imaginary_part_is_no_float():
    assert float(torch.tensor(2 + 0j)) == 2.0
    assert complex(torch.tensor(1 + 2j)) == 1 + 2j
    for kind in (float, int):
        with pytest.raises(RuntimeError, match="without overflow"):
            kind(torch.tensor(1 + 2j))
