"""``python -m mindtorch_v2`` is the same as ``mindtorch``."""

import sys

from ._cli import main

sys.exit(main())
