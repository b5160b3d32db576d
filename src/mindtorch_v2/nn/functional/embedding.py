"""Embeddings and one-hot vectors."""

__all__: list[str] = []
