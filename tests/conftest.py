"""Every test may use the NPU: the software one, asked for before the package is imported."""

import os

os.environ.setdefault("MINDTORCH_NPU", "soft")
