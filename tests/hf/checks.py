"""What the tests and the recording share."""

from __future__ import annotations

import numpy


def sums(gradient: numpy.ndarray) -> numpy.ndarray:
    """64 weighted sums of a long vector: different vectors have different ones."""
    places = numpy.arange(gradient.size, dtype=numpy.float64)
    return numpy.array([(gradient * numpy.cos(places * (k + 1) * 0.37)).sum() for k in range(64)])
