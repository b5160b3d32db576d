"""The parts of torch.serialization: archives, pickles and where storages go."""
