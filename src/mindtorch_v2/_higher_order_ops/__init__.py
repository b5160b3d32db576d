"""``torch._higher_order_ops``: operators that take functions. Only the scan is here."""

from .associative_scan import associative_scan as associative_scan
