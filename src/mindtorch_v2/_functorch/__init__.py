"""``torch._functorch``: where PyTorch keeps what ``functorch`` is made of; some packages look here."""

from .._absent import names_of

__getattr__ = names_of(__name__)
