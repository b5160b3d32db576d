"""``torch._vendor.packaging``: the package of that name, which must be installed."""
