"""What an operator keeps for its gradient is no more than what PyTorch keeps: memory is what users run out of."""

import pytest
import torch
from opinfo_bridge import OPS, Translator, leaves
from opinfo_checks import called, has_gradient, main_dtype, quiet, samples_of

import mindtorch_v2

# Made of several operators, whose results are kept as well. An entry that keeps no more is a failure too.
_MORE = set(
    """
    _segment_reduce.lengths _segment_reduce.offsets _unsafe_masked_index
    _unsafe_masked_index_put_accumulate addbmm cholesky_solve clamp combinations dist index_put kron
    ldexp linalg.householder_product linalg.lstsq linalg.lstsq.grad_oriented linalg.lu linalg.solve
    linalg.solve_ex linalg.tensorsolve masked.std masked.var masked_scatter masked_select matrix_exp
    mvlgamma.mvlgamma_p_1 mvlgamma.mvlgamma_p_3 mvlgamma.mvlgamma_p_5 nn.functional.bilinear
    nn.functional.embedding_bag nn.functional.kl_div nn.functional.linear_cross_entropy.chunked
    nn.functional.linear_cross_entropy.chunked_none nn.functional.multi_margin_loss
    nn.functional.multilabel_margin_loss nn.functional.poisson_nll_loss
    nn.functional.scaled_dot_product_attention nn.functional.soft_margin_loss normal ormqr polar
    renorm sinc sparse.mm.reduce svd_lowrank tensordot torch.ops.aten._safe_softmax.default
    """.split()
)


def _memory(value, lib):
    """The bytes of all storages in a value, by address."""
    dense = [x for x in leaves(value) if isinstance(x, lib.Tensor) and x.layout == lib.strided]
    storages = [x.untyped_storage() for x in dense]
    return {storage.data_ptr(): storage.nbytes() for storage in storages}


def _kept(op, sample, arguments, lib):
    """Bytes that wait for backward: those beside arguments and results, and all."""
    kept = {}

    def pack(tensor):
        kept.update(_memory([tensor], lib))
        return tensor

    lib.manual_seed(3)
    with lib.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = called(op, lib, sample, *arguments, gauge=False)
    known = _memory((arguments, result), lib)
    return sum(size for place, size in kept.items() if place not in known), sum(kept.values())


@pytest.mark.parametrize("name", [name for name in sorted(OPS) if has_gradient(OPS[name])])
def test_no_more_is_kept_than_pytorch_keeps(name):
    op = OPS[name]
    beside, everything = [0, 0], [0, 0]
    with quiet():
        for _, sample in samples_of(op, main_dtype(op), 6, grad=True):
            theirs = (sample.input, sample.args, sample.kwargs)
            for at, (lib, arguments) in enumerate(
                [(torch, theirs), (mindtorch_v2, Translator(mindtorch_v2)(theirs))]
            ):
                more, total = _kept(op, sample, arguments, lib)
                beside[at] += more
                everything[at] += total
    more = beside[1] > beside[0] or everything[1] > everything[0]
    assert more == (name in _MORE), (
        f"PyTorch, ours: {beside} beside arguments and results, {everything} in all"
    )


@pytest.mark.parametrize("name", [name for name in sorted(OPS) if has_gradient(OPS[name])])
def test_what_is_kept_is_unpacked_once_in_a_pass(name):
    op, lib = OPS[name], mindtorch_v2
    with quiet():
        for number, sample in samples_of(op, main_dtype(op), 3, grad=True):
            asked = []

            def pack(tensor, asked=asked):
                asked.append(0)
                return len(asked) - 1, tensor

            def unpack(packed, asked=asked):
                asked[packed[0]] += 1
                return packed[1]

            arguments = Translator(lib)((sample.input, sample.args, sample.kwargs))
            with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
                result = called(op, lib, sample, *arguments, gauge=False)
            made = [x for x in leaves(result) if isinstance(x, lib.Tensor) and x.requires_grad]
            made = [x if x.layout == lib.strided else x.to_dense() for x in made]
            lib.autograd.backward(made, [lib.ones_like(x) for x in made])
            assert max(asked, default=0) <= 1, f"sample {number}: {asked}"
