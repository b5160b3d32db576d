"""What modules print, refuse and warn of, against PyTorch."""

import warnings

import pytest


def zeros(t, *shape, **options):
    return t.zeros(shape, **options)


# Each is an expression over t (the library) and z (its zeros); what comes out of it must be the same in both.
EXPRESSIONS = """
t.nn.Hardtanh(1, 0)
t.nn.Hardtanh(min_value=-2)
t.nn.RReLU(inplace=True)
t.nn.Threshold(1, 2, True)
t.nn.Softmax2d()(z(2, 2))
t.nn.Softmax()(z(2, 2)).shape
t.nn.Dropout(2)
t.nn.MultiheadAttention(3, 2)
t.nn.MultiheadAttention(0, 2)
t.nn.MultiheadAttention(4, 2)(z(1, 2, 2, 4), z(1), z(1))
t.nn.MultiheadAttention(4, 2)(z(2, 2, 4), z(2, 4), z(2, 4))
t.nn.MultiheadAttention(4, 2)(z(2, 2, 4), z(2, 2, 4), z(2, 2, 4), is_causal=True)
t.nn.MultiheadAttention(4, 2)(z(3, 2, 4), z(3, 2, 4), z(3, 2, 4), z(2, 3) > 1, attn_mask=z(3, 3))[0].shape
t.nn.MultiheadAttention(4, 2)(z(3, 2, 4), z(3, 2, 4), z(3, 2, 4), attn_mask=z(4, 4))
t.nn.MultiheadAttention(4, 2)(z(3, 2, 4), z(3, 2, 4), z(3, 2, 4), attn_mask=z(3, 3, dtype=t.int32))
t.nn.Unflatten(1, 3)
t.nn.Unflatten(1, (2, 'a'))
t.nn.FractionalMaxPool2d(2)
t.nn.FractionalMaxPool3d(2, output_size=3, output_ratio=.5)
t.nn.FractionalMaxPool2d(2, output_ratio=1.5)
t.nn.GroupNorm(3, 4)
t.nn.GroupNorm(2, 4, bias=False)
t.nn.LayerNorm((3, 2), bias=False)
t.nn.BatchNorm1d(3, bias=False)
t.nn.BatchNorm1d(3)(z(3))
t.nn.BatchNorm2d(3)(z(3))
t.nn.BatchNorm3d(3)(z(3))
t.nn.BatchNorm1d(3)(z(1, 3))
t.nn.InstanceNorm1d(3)(z(3))
t.nn.InstanceNorm2d(3)(z(3, 2))
t.nn.InstanceNorm1d(3, affine=True)(z(3, 2, 2))
t.nn.InstanceNorm1d(4)(z(3, 2)).shape
t.nn.InstanceNorm1d(3).load_state_dict({'running_mean': z(3)})
t.nn.SyncBatchNorm(3)(z(3))
t.nn.SyncBatchNorm.convert_sync_batchnorm(t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3)))
t.nn.CrossMapLRN2d(2)(z(3))
t.nn.Embedding(3, 2, padding_idx=5)
t.nn.Embedding(3, 2, _weight=z(2, 2))
t.nn.Embedding.from_pretrained(z(2))
t.nn.Embedding.from_pretrained(z(2, 3)).weight.requires_grad
t.nn.Embedding(3, 2, -1, 1., sparse=True, scale_grad_by_freq=True, norm_type=1.)
t.nn.EmbeddingBag(3, 2, padding_idx=4)
t.nn.EmbeddingBag(3, 2, 1., scale_grad_by_freq=True, norm_type=1., padding_idx=1)
t.nn.EmbeddingBag.from_pretrained(z(2, 3), mode='max')
t.nn.CircularPad1d(1)(z(3))
t.nn.Bilinear(0, 3, 4)
t.nn.Conv2d(3, 4, 2, groups=2)
t.nn.Conv2d(4, 3, 2, groups=2)
t.nn.Conv2d(4, 4, 2, groups=0)
t.nn.Conv2d(4, 4, 2, padding='same', stride=2)
t.nn.ConvTranspose2d(4, 4, 2, padding_mode='circular')
t.nn.ConvTranspose2d(4, 4, 2)(z(1, 4, 3, 3), output_size=[9, 9])
t.nn.Conv2d(4, 4, 3, 2, 1, 2, 2, False, 'reflect')
t.nn.ConvTranspose1d(4, 4, 3, 2, 1, 1, 2)
t.nn.TripletMarginLoss(margin=-1)
t.nn.TripletMarginWithDistanceLoss(margin=-1)
t.nn.TripletMarginWithDistanceLoss()
t.nn.MultiMarginLoss(p=3)
t.nn.MultiMarginLoss(weight=z(2, 2))
t.nn.HuberLoss(delta=-1)(z(1), z(1))
t.nn.L1Loss(size_average=False).reduction
t.nn.NLLLoss2d()
t.nn.AdaptiveLogSoftmaxWithLoss(3, 5, [])
t.nn.AdaptiveLogSoftmaxWithLoss(3, 5, [6])
t.nn.AdaptiveLogSoftmaxWithLoss(8, 6, [2])(z(3), z(2))
t.nn.AdaptiveLogSoftmaxWithLoss(8, 6, [2])(z(1, 8), t.tensor([7]))
t.nn.AdaptiveLogSoftmaxWithLoss(8, 6, [2])(z(1, 1, 8), z(1, 1, 3))
t.nn.LinearCrossEntropyLoss(3, 4, out_features=(2,), bias=True)
t.nn.Upsample(2)
t.nn.Upsample(scale_factor=(2, 3))
t.nn.Container()
t.nn.LSTM(3, 4, dropout=.5)
t.nn.LSTM(3, 4, dropout=2)
t.nn.LSTM(3, 4, proj_size=-1)
t.nn.LSTM(3, 4, proj_size=4)
t.nn.GRU(3, 4, proj_size=2)
t.nn.LSTM(3., 4)
t.nn.LSTM(3, 0)
t.nn.LSTM(3, 4, num_layers=0)
t.nn.RNN(3, 4, nonlinearity='x')
t.nn.RNNBase('x', 3, 4)
t.nn.RNN(3, 4, 2, 'relu', False).mode
t.nn.LSTM(3, 4, num_layers=2, bias=False, batch_first=True, dropout=.5, bidirectional=True, proj_size=2)
t.nn.LSTM(3, 4)(z(3))
t.nn.LSTM(3, 4)(z(2, 5))
t.nn.LSTM(3, 4)(z(2, 3), (z(1, 1, 4), z(1, 1, 4)))
t.nn.LSTM(3, 4)(z(2, 2, 3), (z(1, 4), z(1, 4)))
t.nn.LSTM(3, 4)(z(2, 2, 3), (z(1, 3, 4), z(1, 2, 4)))
t.nn.LSTM(3, 4)(z(2, 2, 3), (z(1, 2, 4), z(1, 3, 4)))
t.nn.LSTM(3, 4)(z(2, 2, 3).double())
t.nn.LSTM(3, 4)(z(0, 2, 3))
t.nn.LSTM(3, 4)(z(2, 0, 3))[0].shape
t.nn.GRU(3, 4)(z(2, 2, 3), z(1, 4))
t.nn.GRU(3, 4)(z(2, 2, 3), z(1, 3, 4))
t.nn.GRU(3, 4)(z(2, 3), z(1, 1, 4))
t.nn.RNN(3, 4)(z(2))
t.nn.LSTMCell(3, 4)(z(2, 2, 3))
t.nn.LSTMCell(3, 4)(z(5))
t.nn.LSTMCell(3, 4)(z(2, 3), (z(3, 4), z(2, 4)))
t.nn.LSTMCell(3, 4)(z(2, 3), (z(2, 4), z(1, 1, 4)))
t.nn.GRUCell(3, 4, bias=False)(z(2, 3), z(1, 1, 4))
t.nn.RNNCell(3, 4, nonlinearity='x')
t.nn.RNNCell(3, 4, nonlinearity='x')(z(2, 3))
t.nn.TransformerEncoderLayer(4, 2, activation='x')
t.nn.TransformerEncoder(t.nn.TransformerEncoderLayer(4, 2, 8), 2)
t.nn.TransformerEncoder(t.nn.TransformerEncoderLayer(3, 1, 8, batch_first=True), 1).use_nested_tensor
t.nn.TransformerEncoder(t.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, bias=False), 1).use_nested_tensor
t.nn.TransformerEncoder(t.nn.Linear(2, 2), 1).use_nested_tensor
t.nn.Transformer(4, 2, 1, 1, 8)(z(2, 3, 4), z(2, 2, 4))
t.nn.Transformer(4, 2, 1, 1, 8)(z(2, 2, 3), z(2, 2, 3))
t.nn.LazyLinear(3)
t.nn.LazyLinear(3).weight
t.nn.LazyLinear(3).weight.shape
t.nn.LazyLinear(3).share_memory()
t.nn.LazyLinear(3).state_dict()
t.nn.LazyLinear(3).double().weight.dtype
t.nn.LazyLinear(3).load_state_dict(t.nn.Linear(2, 3).state_dict())
t.nn.LazyLinear(3).load_state_dict(t.nn.LazyLinear(3).state_dict())
t.nn.Linear(2, 3).load_state_dict(t.nn.LazyLinear(3).state_dict())
t.nn.LazyConv2d(3, 2)
t.nn.LazyConv1d(3, 2)(z(2))
t.nn.LazyConv2d(3, 2)(z(2, 3))
t.nn.LazyBatchNorm1d()
list(t.nn.LazyBatchNorm1d().state_dict())
t.nn.ParameterList([z(2, 3), 3])
t.nn.ParameterList([z(2, 3), 3])[5]
t.nn.ParameterList([z(2, 3), 3])[-1]
t.nn.ParameterList([z(2, 3), z(2), 4])[1:]
t.nn.ParameterList(3)
t.nn.ParameterList(t.nn.Parameter(z(2)))
t.nn.ParameterList([z(1)])()
t.nn.ParameterList([t.nn.ParameterList([z(1)])])
t.nn.ParameterDict({'b': z(2), 'a': 4})
list(t.nn.ParameterDict({'b': z(2), 'a': 4}))
t.nn.ParameterDict({'b': z(2)})['q']
t.nn.ParameterDict({3: 1})
t.nn.ParameterDict({'a': 1}).update(3)
t.nn.ParameterDict({'a': 1}).update([1])
t.nn.ParameterDict({'a': 1}).update([(1, 2, 3)])
t.nn.ParameterDict({'a': z(1)}) | {'p': 2}
t.nn.ParameterDict({'a': z(1), 'b': 2}).popitem()
t.nn.ParameterDict({'a': z(1)}).copy()
t.nn.ModuleDict({'b': t.nn.ReLU(), 'a': t.nn.Tanh()})
t.nn.Buffer(z(2))
isinstance(t.nn.Buffer(z(2)), t.nn.Buffer), isinstance(z(2), t.nn.Buffer), type(t.nn.Buffer(z(2))).__name__
t.nn.Linear(2, 2).get_submodule('x')
t.nn.Linear(2, 2).get_parameter('x')
t.nn.Linear(2, 2).set_submodule('', t.nn.ReLU())
t.nn.Linear(2, 2).register_parameter('a.b', None)
t.nn.Linear(2, 2).register_parameter('weight2', z(2))
t.nn.Linear(2, 2).register_buffer('weight', z(2))
t.nn.Linear(2, 2).add_module('x', 3)
t.nn.Linear(2, 2).nothing
t.nn.Linear(2, 2).to(t.int32)
t.nn.Linear(2, 2).train(3)
t.nn.Linear(2, 2)(z(3, 3))
t.nn.Module()()
t.nn.Linear(2, 2)(z(3, 2, dtype=t.float64))
t.nn.Linear(2, 2)(z(4, 3, 2, dtype=t.int64))
t.nn.Linear(2, 2, bias=False)(z(3, 2, dtype=t.float64))
t.bmm(z(1, 2, 2), z(1, 2, 2, dtype=t.float64))
t.nn.Conv2d(1, 1, 2)(z(1, 1, 3, 3, dtype=t.float64))
t.nn.LayerNorm(2)(z(3, 2, dtype=t.float64))
t.nn.BatchNorm1d(2)(z(3, 2, dtype=t.float64))
t.nn.BCELoss()(z(2), z(2, dtype=t.int64))
t.nn.BCEWithLogitsLoss()(z(2), z(2, dtype=t.int64))
t.nn.BCEWithLogitsLoss()(z(2), z(2, dtype=t.bool))
t.nn.BCEWithLogitsLoss()(z(2), z(2, dtype=t.float64)).dtype
t.nn.CrossEntropyLoss()(z(2, 3), z(2))
t.nn.Embedding(3, 2, max_norm=1.)(t.tensor([9]))
t.nn.Embedding(3, 2, max_norm=1.)(t.tensor([-1]))
t.nn.Embedding(3, 2, max_norm=1.)(t.tensor([.5]))
t.nn.Linear(2, 2, device='meta').to('cpu')
t.nn.Linear(2, 2).to(dtypes=3)
t.nn.Linear(2, 2).weight.nothing
t.cat([z(2), 1])
t.stack((z(2), None))
z(2, 2).expand(3, 3)
z(2, 2).index_select(0, t.tensor([5]))
""".strip().splitlines()


def outcome(t, expression):
    """The text or the error of an expression, and its warnings."""
    t.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            text = repr(eval(expression, {"t": t, "z": lambda *a, **k: zeros(t, *a, **k)}))
        except Exception as error:  # noqa: BLE001 - compared with the other library's
            text = f"{type(error).__name__}: {error}"
    return text.replace("mindtorch_v2", "torch"), [(w.category.__name__, str(w.message)) for w in caught]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_same_is_said(both, expression):
    torch, ours = both
    assert outcome(ours, expression) == outcome(torch, expression)
