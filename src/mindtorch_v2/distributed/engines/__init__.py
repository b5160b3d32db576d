"""The libraries that carry messages, one file each."""
