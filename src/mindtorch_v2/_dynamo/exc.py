"""``torch._dynamo.exc``: what programs catch around compiled functions. Nothing raises it here."""

from __future__ import annotations

from .._absent import names_of


class TorchDynamoException(RuntimeError):
    """Of everything that goes wrong while a graph is made."""


__getattr__ = names_of(__name__)
