"""``torch.fx.passes.infra``: what passes are made of."""

from ...._absent import names_of

__getattr__ = names_of(__name__)
