"""Devices other than the CPU: what the native backends need from Python."""
