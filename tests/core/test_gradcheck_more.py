"""gradcheck beyond dense real inputs: sparse tensors, absent gradients, complex parts, batches."""

import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import Function, gradcheck
from mindtorch_v2.autograd.gradcheck import (
    GradcheckError,
    get_analytical_jacobian,
    get_numerical_jacobian,
)

LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]


def sparse(layout, dense=None):
    blocks = (2, 2) if layout in (torch.sparse_bsr, torch.sparse_bsc) else None
    dense = torch.rand(4, 6, dtype=torch.float64) if dense is None else dense
    return dense.to_sparse(layout=layout, blocksize=blocks).requires_grad_()


def changed_gradient(change):
    """A function that changes nothing but its gradient."""

    def run(x):
        y = x.clone()
        y.register_hook(change)
        return y

    return run


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_function_of_a_sparse_tensor_is_compared_element_by_element(layout, masked, fast):
    options = {"masked": masked, "fast_mode": fast}
    assert gradcheck(lambda x: x.to_dense(masked_grad=masked).pow(2), sparse(layout), **options)


@pytest.mark.parametrize("fast", [True, False])
def test_elements_that_a_sparse_tensor_lacks_count_unless_masked(fast):
    dense = torch.diag(torch.rand(3, dtype=torch.float64) + 1)
    x = sparse(torch.sparse_coo, dense)
    assert gradcheck(lambda x: x.to_dense(), x, masked=True, fast_mode=fast)
    assert gradcheck(lambda x: x.to_dense(masked_grad=False), x, masked=False, fast_mode=fast)


def test_a_gradient_in_another_layout_than_its_input_is_told():
    class Sparse(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad.to_sparse()

    with pytest.raises(GradcheckError, match="grad is incorrect layout"):
        gradcheck(Sparse.apply, torch.ones(1, dtype=torch.float64, requires_grad=True))


def test_a_gradient_that_does_not_come_of_the_output_is_told():
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(changed_gradient(lambda g: g + 1e-2), x, atol=1e-1)


def test_functions_that_cannot_do_without_a_gradient_are_told():
    def refuse(grad):
        if grad is None:
            raise RuntimeError("none came")

    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with pytest.warns(UserWarning, match="undefined gradient support"):
        with pytest.raises(GradcheckError, match="handle undefined output grads"):
            gradcheck(changed_gradient(refuse), x)
    assert gradcheck(changed_gradient(refuse), x, check_undefined_grad=False)


def test_the_part_of_a_complex_output_that_differs_is_named():
    x = torch.ones(2, dtype=torch.complex128, requires_grad=True)
    with pytest.raises(GradcheckError, match="While considering the imaginary part of complex outputs only"):
        gradcheck(changed_gradient(lambda g: g + 1e-2), x)
    with pytest.raises(GradcheckError, match="While considering the real part of complex outputs only"):
        gradcheck(changed_gradient(lambda g: g.real.mul(1.1).to(g.dtype) + 1j * g.imag), x)


def test_inputs_that_overlap_themselves_are_refused():
    x = torch.ones(1, dtype=torch.float64, requires_grad=True).expand(2, 2)
    with pytest.raises(RuntimeError, match="0th input has a dimension with stride 0"):
        gradcheck(lambda x: x * 2, x)


def test_random_numbers_of_a_jvp_are_refused_in_batches():
    class Noisy(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(ctx, tangent):
            torch.rand_like(tangent)
            return tangent * 2

    x = torch.rand(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match="do not yet support calling random operations inside of vmap"):
        gradcheck(Noisy.apply, x, check_forward_ad=True, check_batched_forward_grad=True)


def test_forward_mode_sees_inputs_without_a_backward_graph():
    seen = []

    class Looking(Function):
        @staticmethod
        def forward(ctx, x, y):
            seen.append((x.requires_grad, y.requires_grad))
            return x.clone(), y.clone()

        @staticmethod
        def jvp(ctx, x, y):
            return x, y

    x, y = (torch.rand(1, dtype=torch.float64, requires_grad=True) for _ in range(2))
    options = {"check_backward_ad": False, "check_undefined_grad": True, "check_batched_forward_grad": True}
    assert gradcheck(Looking.apply, (x, y), check_forward_ad=True, **options)
    assert (False, False) in seen


def test_jacobians_by_their_private_names_still_come_with_a_warning():
    x, y = (torch.rand(2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    with pytest.warns(FutureWarning, match="get_numerical_jacobian"):
        by_steps = get_numerical_jacobian(lambda pair: 2 * pair[0] + pair[1], (x, y), eps=1e-6)
    with pytest.warns(FutureWarning, match="get_analytical_jacobian"):
        found, same, sizes, types = get_analytical_jacobian((x, y), 2 * x + y)
    for numerical, analytical, factor in zip(by_steps, found, (2, 1), strict=True):
        assert torch.allclose(numerical, factor * torch.eye(2, dtype=torch.float64))
        assert torch.allclose(analytical, factor * torch.eye(2, dtype=torch.float64))
    assert same and sizes and types
    with warnings.catch_warnings(), pytest.raises(ValueError, match="Expected grad_out to be 1.0"):
        warnings.simplefilter("ignore")
        get_analytical_jacobian((x,), x * 2, grad_out=2.0)
