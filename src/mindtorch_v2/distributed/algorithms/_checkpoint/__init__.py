"""Modules that compute again in backward instead of keeping what they computed."""
