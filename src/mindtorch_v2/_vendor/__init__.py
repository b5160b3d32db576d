"""``torch._vendor``: packages of others that PyTorch carries along."""
