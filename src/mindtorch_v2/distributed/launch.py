"""``python -m torch.distributed.launch``: the older name of ``torchrun``."""

from __future__ import annotations

import sys
import warnings

from .run import command


def main() -> int:
    """The command."""
    warnings.warn(
        "torch.distributed.launch is deprecated and will be removed in future. Use torchrun, and read LOCAL_RANK "
        "from the environment.",
        FutureWarning,
        stacklevel=2,
    )
    return command()


if __name__ == "__main__":
    sys.exit(main())
