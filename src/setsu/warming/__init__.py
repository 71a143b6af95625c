"""Compiled code before it is needed: what `setsu warm-up` runs, and the command that refreshes the shipped code."""

from setsu.warming.first_calls import FIRST_CALLS, warm_up

__all__ = ["FIRST_CALLS", "warm_up"]
