"""Pooling."""

__all__: list[str] = []
