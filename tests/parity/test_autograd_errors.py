"""Programs that autograd refuses: the same exception as PyTorch's, in the same words."""

import pytest
import torch

import mindtorch_v2


def leaf(lib, *values):
    return lib.tensor(values, dtype=lib.float32, requires_grad=True)


def backward_of_a_vector(lib):
    (leaf(lib, 1.0, 2.0) * 2).backward()


def backward_without_graph(lib):
    lib.ones(1).backward()


def backward_twice(lib):
    x = leaf(lib, 1.0)
    y = x.exp()
    y.backward()
    y.backward()


def backward_with_a_wrong_shape(lib):
    (leaf(lib, 1.0, 2.0) * 2).backward(lib.ones(3))


def unused_input(lib):
    lib.autograd.grad(leaf(lib, 1.0).sum(), [leaf(lib, 2.0)])


def input_without_grad(lib):
    lib.autograd.grad(leaf(lib, 1.0).sum(), [lib.ones(1)])


def in_place_on_a_leaf(lib):
    leaf(lib, 1.0).add_(1)


def in_place_on_a_view_of_a_leaf(lib):
    leaf(lib, 1.0, 2.0)[0].add_(1)


def assignment_to_a_leaf(lib):
    x = leaf(lib, 1.0, 2.0)
    x[0] = 3


def in_place_spoils_a_saved_input(lib):
    x = leaf(lib, 1.0, 2.0)
    y = x * 1
    z = (y * y).sum()
    y.add_(1)
    z.backward()


def in_place_spoils_a_saved_output(lib):
    y = leaf(lib, 1.0, 2.0).exp()
    y.add_(1)
    y.sum().backward()


def in_place_through_detach_spoils(lib):
    y = leaf(lib, 1.0, 2.0).exp()
    y.detach().zero_()
    y.sum().backward()


def in_place_through_a_view_spoils(lib):
    y = leaf(lib, 1.0, 2.0).sigmoid()
    y.detach()[0] = 5
    y.sum().backward()


def requires_grad_of_integers(lib):
    lib.tensor([1], requires_grad=True)


def requires_grad_later_of_integers(lib):
    lib.tensor([1]).requires_grad_()


def requires_grad_off_for_a_result(lib):
    (leaf(lib, 1.0) * 2).requires_grad_(False)


def hook_without_grad(lib):
    lib.ones(1).register_hook(lambda g: g)


def retain_grad_without_grad(lib):
    lib.ones(1).retain_grad()


def grad_of_another_shape(lib):
    leaf(lib, 1.0).grad = lib.ones(2)


def grad_of_another_dtype(lib):
    leaf(lib, 1.0).grad = lib.ones(1, dtype=lib.float64)


def grad_that_is_no_tensor(lib):
    leaf(lib, 1.0).grad = 3


def detach_in_place_of_a_view(lib):
    (leaf(lib, 1.0, 2.0) * 2)[0].detach_()


def view_made_in_no_grad_written_with_grad(lib):
    y = leaf(lib, 1.0, 2.0) * 2
    with lib.no_grad():
        v = y[0]
    v.mul_(2)


def out_of_an_argument_that_requires_grad(lib):
    lib.add(leaf(lib, 1.0), 1, out=lib.empty(1))


def numpy_of_a_result(lib):
    (leaf(lib, 1.0) * 2).numpy()


def viewing(lib, forward):
    """A Function that shows memory of its input."""
    members = {
        "forward": staticmethod(lambda ctx, x: forward(x)),
        "backward": staticmethod(lambda ctx, *grads: grads[0]),
    }
    return type("Viewing", (lib.autograd.Function,), members).apply


def whole(lib):
    return lib.ones(2, 3, requires_grad=True).clone()


def write_to_a_view_of_a_function(lib):
    viewing(lib, lambda x: x.view(-1))(whole(lib)).mul_(2)


def write_to_an_input_that_a_function_returned(lib):
    viewing(lib, lambda x: x)(whole(lib)).mul_(2)


def write_to_one_of_several_views_of_a_function(lib):
    viewing(lib, lambda x: (x[0], x[1]))(whole(lib))[1].mul_(2)


def write_to_a_view_of_inference_mode(lib):
    x = whole(lib)
    with lib.inference_mode():
        view = x.view(-1)
    view.mul_(2)


def write_to_a_view_of_a_view_of_no_grad(lib):
    x = whole(lib)
    with lib.no_grad():
        view = x.view(-1)
    view.view(3, 2).mul_(2)


def use_of_a_view_of_no_grad_after_a_write(lib):
    x = whole(lib)
    with lib.no_grad():
        view = x.view(-1)
    x.mul_(2)
    return view * 2


def change_of_the_window_of_a_view_of_no_grad(lib):
    x = whole(lib)
    with lib.no_grad():
        view = x.view(2, 3)
    view.transpose_(0, 1)


def resizing_a_result(lib):
    whole(lib).resize_(2)


def write_to_an_inference_tensor_as_out(lib):
    with lib.inference_mode():
        x = lib.ones(2)
    lib.mul(lib.ones(2), 2, out=x)


def gradients_of_a_batch_that_do_not_fit(lib):
    x = whole(lib)
    lib.autograd.grad(x * 2, x, lib.ones(2, 3), is_grads_batched=True)


def hessian_of_a_linear_function(lib):
    lib.autograd.functional.hessian(lambda x: (3 * x).sum(), lib.ones(2), strict=True)


def second_derivative_of_a_product_of_zeros(lib):
    x, src = leaf(lib, 1.0), leaf(lib, 0.0, 0.0)
    made = lib.scatter_reduce(x, 0, lib.zeros(2, dtype=lib.int64), src, "prod")
    (grad,) = lib.autograd.grad(made.sum(), src, create_graph=True)
    grad.sum().backward()


def a_node_called_with_too_little(lib):
    (leaf(lib, 1.0) ** 2).grad_fn()


def more_eigenpairs_than_there_is_room_for(lib):
    lib.lobpcg(lib.eye(5), k=2)


ERRORS = [
    backward_of_a_vector,
    backward_without_graph,
    backward_twice,
    backward_with_a_wrong_shape,
    unused_input,
    input_without_grad,
    in_place_on_a_leaf,
    in_place_on_a_view_of_a_leaf,
    assignment_to_a_leaf,
    in_place_spoils_a_saved_input,
    in_place_spoils_a_saved_output,
    in_place_through_detach_spoils,
    in_place_through_a_view_spoils,
    requires_grad_of_integers,
    requires_grad_later_of_integers,
    requires_grad_off_for_a_result,
    hook_without_grad,
    retain_grad_without_grad,
    grad_of_another_shape,
    grad_of_another_dtype,
    grad_that_is_no_tensor,
    detach_in_place_of_a_view,
    view_made_in_no_grad_written_with_grad,
    out_of_an_argument_that_requires_grad,
    numpy_of_a_result,
    write_to_a_view_of_a_function,
    write_to_an_input_that_a_function_returned,
    write_to_one_of_several_views_of_a_function,
    write_to_a_view_of_inference_mode,
    write_to_a_view_of_a_view_of_no_grad,
    use_of_a_view_of_no_grad_after_a_write,
    change_of_the_window_of_a_view_of_no_grad,
    resizing_a_result,
    write_to_an_inference_tensor_as_out,
    gradients_of_a_batch_that_do_not_fit,
    hessian_of_a_linear_function,
    second_derivative_of_a_product_of_zeros,
    a_node_called_with_too_little,
    more_eigenpairs_than_there_is_room_for,
]


@pytest.mark.parametrize("program", ERRORS, ids=lambda p: p.__name__)
def test_the_program_fails_as_in_pytorch(program):
    with pytest.raises(Exception) as wanted:
        program(torch)
    with pytest.raises(type(wanted.value)) as got:
        program(mindtorch_v2)
    # The first words say what went wrong; names of types, versions and advice may follow in other words.
    start = " ".join(str(wanted.value).split()[:5])
    assert str(got.value).startswith(start)
