"""Convolutions."""

__all__: list[str] = []
