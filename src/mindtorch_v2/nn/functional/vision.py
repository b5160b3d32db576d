"""Interpolation, sampling grids, folding and shuffling of pixels."""

__all__: list[str] = []
