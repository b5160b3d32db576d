"""``torch._higher_order_ops``: operators that take functions. Only the scan is here."""

from .._absent import names_of
from .associative_scan import associative_scan as associative_scan

__getattr__ = names_of(__name__)
