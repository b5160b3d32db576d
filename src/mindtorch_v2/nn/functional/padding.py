"""Padding."""

__all__: list[str] = []
