"""Losses: of classes, of values, of embeddings, and what they share."""
