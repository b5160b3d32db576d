"""The programs of test_programs.py, by subject."""

_CUSTOM = """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return {}

x = torch.ones(2, requires_grad=True)
"""

_SUBCLASS = """
class Sub(torch.Tensor):
    pass

s = torch.ones(2, 3).as_subclass(Sub)
"""

_DUCK = """
class Duck:
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function.__name__, len(args)

"""

PROGRAMS = {
    "named results": [
        "type(torch.max(torch.ones(2, 2), 0)) is type(torch.ones(2, 2).max(0))",
        "torch.max(torch.eye(2), 0)",
        "import pickle\npickle.loads(pickle.dumps(torch.max(torch.eye(2), 0)))",
        "type(torch.topk(torch.eye(2), 1)) is torch.return_types.topk",
        "torch.return_types.max((torch.eye(2), torch.eye(2)))",
        "torch.return_types.max([1])",
        "torch.return_types.linalg_qr",
        "torch.return_types.nothing",
    ],
    "arguments": [
        "x = torch.arange(6.).reshape(2, 3)\ntorch.add(x1=x, x2=x)",
        "x = torch.arange(6.).reshape(2, 3)\ntorch.sum(a=x, axis=0, keepdims=True)",
        "torch.sum(torch.ones(2), 0, foo=1)",
        "torch.ones(2).mul(2, torch.ones(2))",
        "torch.add(object(), torch.ones(2))",
        "torch.zeros(2, 3, 'a')",
        "torch.ones(2) + 2**70",
        "torch.ones(2)[2**70]",
        "torch.tensor([2**70])",
        "torch.tensor([2**63], dtype=torch.uint64)",
        "torch.tensor([2**70], dtype=torch.float32)",
        "torch.tensor([300], dtype=torch.int8)",
        "torch.ones(2, dtype=torch.int8).fill_(300)",
        "torch.ones(2).long()[0].fill_(1j)",
        "torch.ones(2, 3).mean(dtype=torch.int32)",
        "torch.ones(2).mT",
        "torch.ones(2, 3).contiguous(memory_format=torch.preserve_format)",
        "torch.ones(2, 3).index_select(0, torch.tensor([3]))",
        "torch.ones(2, 3).index_select(1, torch.tensor([3]))",
        "torch.ones(2, 3).masked_select(torch.ones(2).bool())",
        "torch.add(torch.ones(2), 1, out=torch.empty(3))",
        "bool(torch.ones(1, device='meta'))",
    ],
    "overloads of old": [
        "torch.ones(2).add_(2, torch.ones(2))",
        "torch.add(torch.ones(2), 2, torch.arange(2.))",
        "torch.ones(2).sub(2, torch.arange(2.))",
        "torch.ones(2).addcmul_(2, torch.arange(2.), torch.ones(2))",
        "torch.addcdiv(torch.ones(2), 2, torch.arange(2.), torch.ones(2))",
        "torch.addmm(2, torch.eye(2), 3, torch.ones(2, 2), torch.ones(2, 2))",
        "torch.addmm(2, torch.eye(2), torch.ones(2, 2), torch.ones(2, 2))",
        "torch.eye(2).addmm_(2, 3, torch.ones(2, 2), torch.ones(2, 2))",
        "torch.ones(2).addmv_(2, torch.ones(2, 2), torch.ones(2))",
        "torch.baddbmm(2, torch.ones(1, 2, 2), 3, torch.ones(1, 2, 2), torch.ones(1, 2, 2))",
    ],
    "numbers": [
        "float(torch.ones(2))",
        "int(torch.ones(0))",
        "complex(torch.ones(2))",
        "torch.ones(2) < 'a'",
        "torch.ones(2) + None",
        "[1, 2] + torch.ones(2)",
        "torch.ones(2).nothing",
        "divmod(torch.ones(2), 2)",
    ],
    "indexing": [
        "torch.arange(12.).reshape(3, 4)[0:'a']",
        "torch.arange(12.).reshape(3, 4)[::0]",
        "torch.zeros(2, 3)[[slice(0, 1), 0]]",
        "torch.ones(2, 3)[torch.tensor([0, 1], dtype=torch.uint8)]",
    ],
    "numpy": [
        "np.float64(2) * torch.ones(2)",
        "np.float32(2) * torch.ones(2)",
        "torch.ones(2) * np.float64(2)",
        "torch.from_numpy(np.array(['a']))",
        "torch.from_numpy(np.array([object()]))",
        "torch.from_numpy(np.arange(4, dtype='>i4'))",
        "torch.tensor(torch.ones(2))",
        "torch.Tensor('a')",
        "torch.Tensor(3.5)",
        "torch.ones(2).__dlpack__(stream=3)",
    ],
    "values": [
        "import collections\ntorch.tensor(range(3)), torch.tensor([range(2), collections.deque([3, 4])])",
        "torch.tensor({}), torch.tensor('ab')",
        "torch.tensor(b'ab')",
        "torch.Size([1, 'a'])",
        "torch.Size([1.5])",
        "(3,) + torch.Size([1])",
        "torch.bfloat16.to_complex(), torch.complex64.to_real(), torch.int8.to_real(), torch.float16.abbr",
        "torch.int8.to_complex()",
        "torch.set_default_dtype('float')",
        "torch.Generator().get_offset()",
        "torch.Generator().set_state(torch.zeros(3))",
        "torch.ones(2).layout == torch.sparse_coo, torch.sparse_csr",
        "torch.ones(2).dense_dim(), torch.ones(2).sparse_dim()",
        "torch.ones(2).coalesce()",
        "torch.ones(2).map2_(torch.ones(2), torch.ones(2), lambda a, b, c: a + b + c)",
        "torch.ones(2, 3).resize(3, 2)",
    ],
    "functions": [
        "torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.ones(2),))",
        "torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(1)))",
        "torch.sym_ite(True, 1, 2), torch.sym_sum([1, 2]), torch.sym_sqrt(4)",
        "torch.vander(torch.tensor([1, 2, 3]))",
        "torch.vander(torch.tensor([1j, 2]), N=3, increasing=True)",
        "torch.norm_except_dim(torch.arange(6.).reshape(2, 3), 2, 1)",
        "torch.norm_except_dim(torch.arange(6.).reshape(2, 3), 2, -1)",
        "torch.frobenius_norm(torch.ones(2, 2), 1, True)",
        "torch.nuclear_norm(torch.eye(2))",
        "torch._assert(False, 'what is wrong')",
        "torch.eig(torch.eye(2))",
        "torch.symeig(torch.eye(2))",
        "torch.lstsq(torch.eye(2), torch.eye(2))",
        "torch.solve(torch.eye(2), torch.eye(2))",
        "torch.matrix_rank(torch.eye(2))",
        "torch.gru_cell(torch.ones(1, 2), torch.ones(1, 1), torch.ones(3, 2), torch.ones(3, 1))",
        "torch.lstm_cell(torch.ones(1, 2), (torch.ones(1, 1),) * 2, torch.ones(4, 2), torch.ones(4, 1))",
        "torch.rnn_tanh_cell(torch.ones(1, 2), torch.ones(1, 1), torch.ones(1, 2), torch.ones(1, 1))",
        "torch.functional.einsum('ij->ji', torch.ones(1, 2))",
    ],
    "backward": [
        "x = torch.ones(2, requires_grad=True)\ntorch.autograd.grad((x * 2).sum(), x, only_inputs=True)",
        "x = torch.ones(2, requires_grad=True)\ntorch.autograd.grad((x * 2).sum(), x, only_inputs=False)",
        "x = torch.ones(2, requires_grad=True)\n"
        "torch.autograd.backward((x * 2).sum(), grad_variables=torch.tensor(3.))\nx.grad",
        "x = torch.ones(2, requires_grad=True)\ny = x * 2\ny.retain_grad()\ny.sum().backward()\n"
        "y.grad.zero_(), y.grad.stride()",
        "(torch.ones(2, requires_grad=True) * 2).backward(torch.ones(3))",
        "(torch.ones(2, requires_grad=True) * 2).sum().backward(inputs=[])",
        "x = torch.ones(2, requires_grad=True)\ny = x.exp()\ny.add_(1)\ny.sum().backward()",
        "x = torch.ones(2, requires_grad=True)\ny = x * 2\nz = y * y\ny.zero_()\nz.sum().backward()",
        "x = torch.ones(2, requires_grad=True)\nw = torch.ones(2)\nz = x * w\nw.add_(1)\nz.sum().backward()",
        "x = torch.ones(2, requires_grad=True) * 1\nv = x[:1]\nz = v * v\nx.add_(1)\nz.sum().backward()",
        "x = torch.ones(2, requires_grad=True)\n"
        "torch.autograd.grad(x * 2, x, grad_outputs=torch.eye(2), is_grads_batched=True)",
        "x = torch.ones(2, requires_grad=True)\n"
        "torch.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)",
        "x = torch.ones(2, requires_grad=True)\nh = x.register_hook(lambda g: torch.ones(3))\n(x * x).sum().backward()",
        "x = torch.ones(2, requires_grad=True)\nx.grad = torch.ones(2).double()",
        "x = torch.ones(2, requires_grad=True)\nx.grad = torch.ones(2, device='meta')",
        "x = torch.ones(2, requires_grad=True)\n(x * 2).grad",
        "x = torch.ones(2, requires_grad=True)\n(x * x).sum().backward(create_graph=True)\nx.grad.requires_grad",
        "torch.ones(2)._version, torch.eye(2)._version, torch.arange(3)._version, torch.randn(2)._version",
        "torch.autograd.gradcheck(lambda x: x * 2, torch.ones(2, requires_grad=True))",
    ],
    "views": [
        "x = torch.ones(4, requires_grad=True) * 1\na, b = x.split(2)\na.add_(1)",
        "x = torch.ones(4, requires_grad=True) * 1\na, b = x.chunk(2)\nb.mul_(2)",
        "x = torch.ones(4, requires_grad=True) * 1\nx.unbind()[1].mul_(2)",
        "x = torch.ones(4)\na, b = x.split(2)\na.add_(1)\nx",
        "x = torch.ones(4, requires_grad=True)\nwith torch.no_grad():\n    a, b = x.split(2); a.add_(1)\nx",
        "x = torch.ones(4, requires_grad=True)\nwith torch.no_grad():\n    y = x[:2]\ny.mul_(2)",
        "x = torch.ones(4, requires_grad=True)\n[t.grad_fn.name() for t in (*x.split(2), *x.split([1, 3]), *x)]",
        "x = torch.arange(6., requires_grad=True)\na, b, c = x.chunk(3)\n(a * 2 + c * b).sum().backward()\nx.grad",
        "x = torch.arange(6., requires_grad=True)\nx.view(2, 3).unbind(1)[1].sum().backward()\nx.grad",
        "x = torch.ones(4, requires_grad=True) * 1\na, b = torch.unsafe_split(x, 2)\na.add_(1).detach()",
        "x = torch.ones(2, requires_grad=True) * 2\nx.view(2).detach_()",
    ],
    "inference mode": [
        "with torch.inference_mode(): x = torch.ones(2)\nx.requires_grad_()",
        "with torch.inference_mode(): x = torch.ones(2)\nx._version",
    ],
    "graph": [
        "x = torch.ones(2, requires_grad=True)\ntype((x * 2).grad_fn).__name__, type((x * 2).grad_fn).__module__",
        "x = torch.ones(2, requires_grad=True)\nisinstance(x.exp().grad_fn, torch.autograd.graph.Node)",
        "x = torch.ones(2, requires_grad=True)\ntorch.autograd.graph.get_gradient_edge(x * 2)",
        "torch.autograd.graph.get_gradient_edge(torch.ones(2))",
        "x = torch.ones(2)\ntorch.autograd.graph.increment_version(x)\nx._version",
        "torch.autograd.Variable(torch.ones(2), requires_grad=True)",
        "isinstance(torch.ones(2), torch.autograd.Variable)",
        "torch.autograd.Variable(torch.ones(2), volatile=True)",
        "torch.autograd.Variable([1])",
    ],
    "functions of one's own": [
        _CUSTOM.format("torch.ones(5)") + "Double.apply(x).sum().backward()",
        _CUSTOM.format("'a'") + "Double.apply(x).sum().backward()",
        _CUSTOM.format("grad") + "Double.apply(x).grad_fn, type(Double.apply(x).grad_fn).__name__",
        _CUSTOM.format("grad") + "Double()(x)",
        _CUSTOM.format("grad").replace("return x * 2", "x.add_(1); ctx.mark_dirty(x); return x")
        + "Double.apply(x)",
        _CUSTOM.format("grad").replace("return x * 2", "ctx.save_for_backward(x, 3); return x")
        + "Double.apply(x)",
        _CUSTOM.format("grad * ctx.saved_variables[0]").replace(
            "return x * 2", "ctx.save_for_backward(x); return x * 2"
        )
        + "torch.autograd.grad(Double.apply(x).sum(), x)",
    ],
    "subclasses": [
        _SUBCLASS + "type(next(iter(s))), type(s.T), type(s[0]), type(s.max(0)[0])",
        _DUCK + "torch.ones(2) + Duck(), torch.ones(2) ** Duck(), torch.ones(2) @ Duck()",
        _DUCK + "torch.add(Duck(), 1), torch.mean(Duck())",
    ],
}
