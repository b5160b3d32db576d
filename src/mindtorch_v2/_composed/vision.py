"""What torchvision's compiled part has besides operators on tensors: files of images, which Pillow decodes."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

# torchvision's ImageReadMode
_UNCHANGED, _GRAY, _GRAY_ALPHA, _RGB, _RGB_ALPHA = range(5)
_SIGNATURES = {"PNG": b"\x89PNG\r\n\x1a\n", "JPEG": b"\xff\xd8\xff", "GIF": b"GIF8"}


def toolkit_version() -> int:
    """Of the accelerator that torchvision was compiled for: -1, none."""
    return -1


def read_file(filename: str) -> torch.Tensor:
    try:
        with open(filename, "rb") as file:
            content = file.read()
    except OSError as error:
        raise RuntimeError(f"[Errno {error.errno}] {os.strerror(error.errno or 0)}: '{filename}'") from error
    if not content:
        raise RuntimeError(f"Expected a non empty file, got '{filename}'")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def write_file(filename: str, data: torch.Tensor) -> None:
    if data.dtype != torch.uint8:
        raise RuntimeError(f"Input tensor dtype should be uint8, got {data.dtype}")
    if data.dim() != 1:
        raise RuntimeError(f"Input data should be a 1-dimensional tensor, got {data.dim()} dimensions")
    with open(filename, "wb") as file:
        file.write(data.cpu().numpy().tobytes())


def _pillow() -> Any:
    try:
        from PIL import Image, ImageOps, ImageSequence
    except ImportError as error:
        raise RuntimeError(
            "torchvision.io decodes and encodes images with Pillow here, which is not installed: pip install pillow"
        ) from error
    return Image, ImageOps, ImageSequence


def _content(data: torch.Tensor) -> bytes:
    if data.dtype != torch.uint8:
        raise RuntimeError(f"Expected a torch.uint8 tensor, got {data.dtype}")
    if data.dim() != 1 or data.numel() == 0:
        raise RuntimeError(f"Expected a non empty 1-dimensional tensor, got one of {list(data.shape)}")
    if data.device.type != "cpu":
        raise RuntimeError(f"Expected the encoded image on the cpu, got a tensor on {data.device}")
    return bytes(data.numpy().tobytes())


def _decoded(content: bytes, kind: str, read: Callable[[Any], torch.Tensor]) -> torch.Tensor:
    """Opens the content as one kind of file; what Pillow finds wrong with it is a RuntimeError, as torchvision's."""
    signature = _SIGNATURES.get(kind, b"RIFF")
    if not content.startswith(signature):
        raise RuntimeError(f"Not a {kind} file: it starts with {content[:4].hex(' ')}")
    try:
        with _pillow()[0].open(io.BytesIO(content), formats=[kind]) as image:
            return read(image)
    except (OSError, SyntaxError, EOFError, ValueError, zlib.error) as error:
        raise RuntimeError(f"the {kind} image cannot be decoded: {error}") from error


def _planes(image: Any) -> torch.Tensor:
    """An image of Pillow's as [channels, height, width]."""
    import numpy

    pixels = numpy.array(image)
    if pixels.dtype != numpy.uint8:  # 16 bits, which Pillow has for one channel
        pixels = pixels.astype(numpy.uint16)
    tensor = torch.from_numpy(pixels)
    return (tensor.unsqueeze(0) if tensor.dim() == 2 else tensor.permute(2, 0, 1)).contiguous()


def _upright(image: Any, apply_exif_orientation: bool) -> Any:
    return _pillow()[1].exif_transpose(image) if apply_exif_orientation else image


def _deep_gray(image: Any, mode: int) -> torch.Tensor:
    """A gray image of 16 bits in another mode: Pillow's conversions would reduce it to 8."""
    gray = _planes(image)
    opaque = torch.full_like(gray, 65535)
    parts = {
        _GRAY_ALPHA: [gray, opaque],
        _RGB: [gray] * 3,
        _RGB_ALPHA: [gray, gray, gray, opaque],
    }
    return torch.cat(parts.get(mode, [gray]))


def _gray(image: Any) -> torch.Tensor:
    """Colours as libpng weighs them, in fractions of 2**15 and rounded down; Pillow rounds."""
    red, green, blue = _planes(image.convert("RGB")).to(torch.int64)
    mixed = (red * 9794 + green * 19234 + blue * 3740) // 2**15
    return torch.where((red == green) & (green == blue), red, mixed).to(torch.uint8).unsqueeze(0)


def decode_png(data: torch.Tensor, mode: int, apply_exif_orientation: bool = False) -> torch.Tensor:
    wanted = {_RGB: "RGB", _RGB_ALPHA: "RGBA"}

    def read(image: Any) -> torch.Tensor:
        image = _upright(image, apply_exif_orientation)
        if image.mode.startswith("I"):
            return _deep_gray(image, mode)
        if image.mode == "1":
            image = image.convert("L")
        if mode in (_GRAY, _GRAY_ALPHA):
            alpha = [_planes(image.convert("RGBA"))[3:]] if mode == _GRAY_ALPHA else []
            return torch.cat([_gray(image), *alpha])
        return _planes(image.convert(wanted[mode]) if mode in wanted else image)

    return _decoded(_content(data), "PNG", read)


def decode_jpeg(data: torch.Tensor, mode: int, apply_exif_orientation: bool = False) -> torch.Tensor:
    if mode not in (_UNCHANGED, _GRAY, _RGB):
        raise RuntimeError("The provided mode is not supported for JPEG files")

    def read(image: Any) -> torch.Tensor:
        if mode == _GRAY:
            image.draft("L", image.size)  # the luminance that the file has
        image = _upright(image, apply_exif_orientation)
        if mode == _UNCHANGED:
            return 255 - _planes(image) if image.mode == "CMYK" else _planes(image)
        return _planes(image.convert("L" if mode == _GRAY else "RGB"))

    return _decoded(_content(data), "JPEG", read)


def decode_webp(encoded_data: torch.Tensor, mode: int) -> torch.Tensor:
    wanted = {_RGB: "RGB", _RGB_ALPHA: "RGBA"}
    return _decoded(
        _content(encoded_data),
        "WEBP",
        lambda image: _planes(image.convert(wanted[mode]) if mode in wanted else image),
    )


def decode_gif(data: torch.Tensor) -> torch.Tensor:
    def read(image: Any) -> torch.Tensor:
        frames = [_planes(frame.convert("RGB")) for frame in _pillow()[2].Iterator(image)]
        return torch.stack(frames) if len(frames) > 1 else frames[0]

    return _decoded(_content(data), "GIF", read)


def decode_image(data: torch.Tensor, mode: int, apply_exif_orientation: bool = False) -> torch.Tensor:
    content = _content(data)
    if content.startswith(_SIGNATURES["JPEG"]):
        return decode_jpeg(data, mode, apply_exif_orientation)
    if content.startswith(_SIGNATURES["PNG"]):
        return decode_png(data, mode, apply_exif_orientation)
    if content.startswith(_SIGNATURES["GIF"]):
        return decode_gif(data)
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return decode_webp(data, mode)
    raise RuntimeError(
        "Unsupported image file. Only jpeg, png, webp and gif are currently supported. For avif and heic formats, use "
        f"torchvision's decode_avif and decode_heic. The file starts with {content[:4].hex(' ')}."
    )


def _encoded(data: torch.Tensor, kind: str, **options: Any) -> torch.Tensor:
    if data.dtype != torch.uint8:
        raise RuntimeError(f"Input tensor dtype should be uint8, got {data.dtype}")
    if data.dim() != 3:
        raise RuntimeError(f"Input data should be a 3-dimensional tensor, got {data.dim()} dimensions")
    if data.shape[0] not in (1, 3):
        raise RuntimeError(f"The number of channels should be 1 or 3, got: {data.shape[0]}")
    if data.device.type != "cpu":
        raise RuntimeError(f"Expected the image on the cpu, got a tensor on {data.device}")
    pixels = data[0] if data.shape[0] == 1 else data.permute(1, 2, 0)
    file = io.BytesIO()
    _pillow()[0].fromarray(pixels.contiguous().numpy()).save(file, kind, **options)
    return torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)


def encode_png(data: torch.Tensor, compression_level: int) -> torch.Tensor:
    if not 0 <= compression_level <= 9:
        raise RuntimeError(f"Compression level should be between 0 and 9, got {compression_level}")
    return _encoded(data, "PNG", compress_level=compression_level)


def encode_jpeg(data: torch.Tensor, quality: int) -> torch.Tensor:
    return _encoded(data, "JPEG", quality=quality)
