"""What all devices share: the registry of their modules, streams, memory functions, and what an absent one says."""
