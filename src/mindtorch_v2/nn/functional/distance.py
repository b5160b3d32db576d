"""Distances."""

from ... import _functions

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]

cosine_similarity = _functions.cosine_similarity
pairwise_distance = _functions.pairwise_distance
pdist = _functions.pdist
