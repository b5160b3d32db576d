"""Operators composed of others in Python, the `python:` cells of the table: those of `ops/<area>.yaml` in `<area>.py`.

Each function takes its arguments by the names of its row's schema; the native parser has checked them. It is
found at the first call, so that nothing here is imported before it is needed.
"""
