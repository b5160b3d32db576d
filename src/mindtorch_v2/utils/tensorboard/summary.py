"""Values as TensorBoard's messages."""

from __future__ import annotations

import io
import wave
from collections.abc import Sequence
from typing import Any

import numpy
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from ..._C import Tensor

# The edges of TensorFlow's histograms: a tenth more from edge to edge, on both sides of zero.
_UP = 1e-12 * 1.1 ** numpy.arange(774)
_UP = _UP[_UP < 1e20]
EDGES = numpy.concatenate([-_UP[::-1], [0.0], _UP])


def to_numpy(values: Any) -> Any:
    """A tensor, an array or a number as an array."""
    if isinstance(values, Tensor):
        return values.detach().cpu().resolve_conj().numpy() if not _is_bfloat(values) else _wider(values)
    if isinstance(values, (list, tuple)) and any(isinstance(value, Tensor) for value in values):
        return numpy.asarray([to_numpy(value) for value in values])
    if isinstance(values, str):
        raise NotImplementedError(f"Got {type(values)}, but numpy array or torch tensor are expected.")
    return numpy.asarray(values)


def _is_bfloat(tensor: Tensor) -> bool:
    return str(tensor.dtype) in ("torch.bfloat16", "torch.float8_e4m3fn", "torch.float8_e5m2")


def _wider(tensor: Tensor) -> Any:
    return tensor.detach().float().cpu().numpy()


def scalar(tag: str, value: Any, double_precision: bool = False, new_style: bool = False) -> Summary:
    """One number."""
    array = to_numpy(value).squeeze()
    if array.ndim:
        raise AssertionError(
            f"Tensor should contain one element (0 dimensions). Was given size: {array.size}"
        )
    if not new_style and not double_precision:
        return Summary(value=[Summary.Value(tag=tag, simple_value=float(array))])
    kind = {"dtype": "DT_DOUBLE", "double_val": [float(array)]} if double_precision else {
        "dtype": "DT_FLOAT", "float_val": [float(array)]
    }  # fmt: skip
    plugin = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
    return Summary(value=[Summary.Value(tag=tag, tensor=TensorProto(**kind), metadata=plugin)])


def histogram(tag: str, values: Any, bins: Any, max_bins: int | None = None) -> Summary:
    """How values are distributed."""
    array = to_numpy(values).astype(float).reshape(-1)
    if array.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = numpy.histogram(array, bins=EDGES if bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        together = -(-len(counts) // max_bins)
        counts = numpy.add.reduceat(counts, range(0, len(counts), together))
        limits = numpy.append(limits[:-1][::together], limits[-1])
    filled = numpy.nonzero(counts)[0]
    if filled.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    # TensorBoard draws from the end of the bucket before: an empty one in front closes the first.
    first, last = filled[0], filled[-1]
    counts = numpy.concatenate([[0], counts[first : last + 1]])
    limits = limits[first : last + 2]
    return _histogram(
        tag, array.min(), array.max(), array.size, array.sum(), array.dot(array), limits, counts
    )


def _histogram(
    tag: str, low: Any, high: Any, number: Any, total: Any, squares: Any, limits: Any, counts: Any
) -> Summary:
    made = HistogramProto(
        min=low,
        max=high,
        num=number,
        sum=total,
        sum_squares=squares,
        bucket_limit=list(limits),
        bucket=list(counts),
    )
    return Summary(value=[Summary.Value(tag=tag, histo=made)])


histogram_raw = _histogram


def image(tag: str, tensor: Any, dataformats: str) -> Summary:
    """A picture, or several side by side; floating-point values are between 0 and 1."""
    array = to_numpy(tensor)
    scale = 1 if array.dtype == numpy.uint8 else 255
    picture = (_rows_columns_colours(array, dataformats).astype(numpy.float32) * scale).clip(0, 255)
    return _encoded(tag, picture.astype(numpy.uint8))


def _rows_columns_colours(array: Any, dataformats: str) -> Any:
    letters = dataformats.upper()
    if len(set(letters)) != len(letters) or not set(letters) <= set("NCHW") or not {"H", "W"} <= set(letters):
        raise AssertionError(
            f"You can not use the same dimension shordhand twice, and need H and W. input_format: {dataformats}"
        )
    if len(letters) != array.ndim:
        raise AssertionError(
            f"size of input tensor and input format are different.         tensor shape: {array.shape}, "
            f"input_format: {dataformats}"
        )
    wanted = [letter for letter in "NHWC" if letter in letters]
    array = array.transpose([letters.index(letter) for letter in wanted])
    if "C" not in letters:
        array = array[..., None]
    if array.shape[-1] == 1:
        array = numpy.repeat(array, 3, axis=-1)
    return _grid(array) if "N" in letters else array


def _grid(pictures: Any) -> Any:
    """At most eight pictures to a row."""
    number, height, width, colours = pictures.shape
    columns = min(number, 8)
    rows = -(-number // columns)
    canvas = numpy.zeros((rows * height, columns * width, colours), pictures.dtype)
    for index, picture in enumerate(pictures):
        top, left = index // columns * height, index % columns * width
        canvas[top : top + height, left : left + width] = picture
    return canvas


def _encoded(tag: str, picture: Any) -> Summary:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("SummaryWriter writes pictures with Pillow: pip install pillow") from error
    stored = io.BytesIO()
    Image.fromarray(picture).save(stored, format="PNG")
    height, width, colours = picture.shape
    encoded = Summary.Image(
        height=height, width=width, colorspace=colours, encoded_image_string=stored.getvalue()
    )
    return Summary(value=[Summary.Value(tag=tag, image=encoded)])


def figure(figures: Any, close: bool) -> Any:
    """A figure of matplotlib, or several, as (pictures of) colours, rows and columns."""
    if not isinstance(figures, Sequence):
        figures.canvas.draw()
        drawn = numpy.asarray(figures.canvas.buffer_rgba())[:, :, :3]
        if close:
            import matplotlib.pyplot

            matplotlib.pyplot.close(figures)
        return drawn.transpose(2, 0, 1)
    return numpy.stack([figure(each, close) for each in figures])


def audio(tag: str, tensor: Any, sample_rate: int) -> Summary:
    """A sound: values between -1 and 1, of 16 bits."""
    array = to_numpy(tensor).squeeze()
    if numpy.abs(array).max() > 1:
        array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    stored = io.BytesIO()
    with wave.open(stored, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((array * (2**15 - 1)).astype("<i2").tobytes())
    encoded = Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=array.size,
        encoded_audio_string=stored.getvalue(), content_type="audio/wav",
    )  # fmt: skip
    return Summary(value=[Summary.Value(tag=tag, audio=encoded)])


def text(tag: str, content: str) -> Summary:
    """A text, which TensorBoard reads as Markdown."""
    plugin = SummaryMetadata(
        plugin_data=SummaryMetadata.PluginData(plugin_name="text", content=b"\x08\x00")  # version 0
    )
    stored = TensorProto(
        dtype="DT_STRING", string_val=[content.encode()],
        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
    )  # fmt: skip
    return Summary(value=[Summary.Value(tag=f"{tag}/text_summary", metadata=plugin, tensor=stored)])


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int, weights: Any = None) -> Summary:
    """Precision and recall at thresholds between 0 and 1."""
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

    truth, guess = to_numpy(labels).reshape(-1).astype(float), to_numpy(predictions).reshape(-1)
    weight = numpy.ones_like(truth) if weights is None else to_numpy(weights).reshape(-1)
    count = min(num_thresholds, 127)  # TensorBoard's slider has no more
    bucket = numpy.floor(guess * (count - 1)).astype(int).clip(0, count - 1)
    # How many are at or above each threshold: sums from the end.
    right = numpy.bincount(bucket, truth * weight, count)[::-1].cumsum()[::-1]
    wrong = numpy.bincount(bucket, (1 - truth) * weight, count)[::-1].cumsum()[::-1]
    least = 1e-7
    rows = numpy.stack(
        [
            right, wrong, wrong[0] - wrong, right[0] - right,
            right / numpy.maximum(least, right + wrong), right / numpy.maximum(least, right[0]),
        ]
    )  # fmt: skip
    plugin = PrCurvePluginData(version=0, num_thresholds=count).SerializeToString()
    metadata = SummaryMetadata(
        plugin_data=SummaryMetadata.PluginData(plugin_name="pr_curves", content=plugin)
    )
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in rows.shape])
    stored = TensorProto(dtype="DT_FLOAT", float_val=rows.reshape(-1).tolist(), tensor_shape=shape)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=stored)])


def hparams(
    hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: dict[str, Any] | None
) -> tuple[Summary, Summary, Summary]:
    """What a run is tried with and measured by: the experiment, its beginning and its end."""
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
        raise TypeError("parameter: hparam_dict and metric_dict should be dictionaries, nothing logged.")
    domains = hparam_domain_discrete or {}
    infos, start = [], plugin_data_pb2.SessionStartInfo()
    for name, given in hparam_dict.items():
        if given is None:
            continue
        value = given.item() if isinstance(given, Tensor) else given
        if isinstance(value, bool):
            start.hparams[name].bool_value, kind = value, api_pb2.DATA_TYPE_BOOL
        elif isinstance(value, (int, float, numpy.number)):
            start.hparams[name].number_value, kind = float(value), api_pb2.DATA_TYPE_FLOAT64
        elif isinstance(value, str):
            start.hparams[name].string_value, kind = value, api_pb2.DATA_TYPE_STRING
        else:
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        info = api_pb2.HParamInfo(name=name, type=kind)
        for option in domains.get(name, ()):
            at = info.domain_discrete.values.add()
            if isinstance(option, bool):
                at.bool_value = option
            elif isinstance(option, str):
                at.string_value = option
            else:
                at.number_value = float(option)
        infos.append(info)
    measured = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metric_dict]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=measured)
    ended = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    version = metadata.PLUGIN_DATA_VERSION

    def message(tag: str, **content: Any) -> Summary:
        data = plugin_data_pb2.HParamsPluginData(version=version, **content)
        plugin = metadata.create_summary_metadata(data)
        return Summary(value=[Summary.Value(tag=tag, metadata=plugin)])

    return (
        message(metadata.EXPERIMENT_TAG, experiment=experiment),
        message(metadata.SESSION_START_INFO_TAG, session_start_info=start),
        message(metadata.SESSION_END_INFO_TAG, session_end_info=ended),
    )


def custom_scalars(layout: dict[str, dict[str, list[Any]]]) -> Summary:
    """Which curves share a chart: ``{category: {chart: [kind, [tags]]}}``."""
    from tensorboard.plugins.custom_scalar import layout_pb2

    categories = []
    for title, charts in layout.items():
        made = []
        for name, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"a Margin has three tags (value, lower, upper), got {tags}")
                series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                content = {"margin": layout_pb2.MarginChartContent(series=[series])}
            else:
                content = {"multiline": layout_pb2.MultilineChartContent(tag=tags)}
            made.append(layout_pb2.Chart(title=name, **content))
        categories.append(layout_pb2.Category(title=title, chart=made))
    plugin = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="custom_scalars"))
    stored = TensorProto(
        dtype="DT_STRING", string_val=[layout_pb2.Layout(category=categories).SerializeToString()],
        tensor_shape=TensorShapeProto(),
    )  # fmt: skip
    tag = "custom_scalars__config__"
    return Summary(value=[Summary.Value(tag=tag, tensor=stored, metadata=plugin)])
