"""Which library computes with quantized numbers: none does."""

engine = "none"
supported_engines: list[str] = ["none"]
