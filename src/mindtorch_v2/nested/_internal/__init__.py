"""What nested tensors are made of."""
