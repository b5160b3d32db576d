"""Averages of models, for processes that train apart for some steps."""
