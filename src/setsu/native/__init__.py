"""Kernels as native code: generic loops and specialised straight-line code, scalar and SIMD, threads, on-disk cache."""
