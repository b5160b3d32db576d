"""Sparse tensors: what operators do with them, over their parts. Note [Sparse tensors] in csrc/core/sparse.h.

Native code asks ``table.handle`` with an operator and its values; each file here fills the table for a family of them.
"""
