"""Normalisation."""

__all__: list[str] = []
