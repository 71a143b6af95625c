"""Source code of one mechanism's functions, from the same traced graph that feeds the native code."""

from setsu.code_generation.generate import GeneratedCode, generate

__all__ = ["GeneratedCode", "generate"]
