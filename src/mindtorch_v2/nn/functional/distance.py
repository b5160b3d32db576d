"""Distances and similarities."""

__all__: list[str] = []
