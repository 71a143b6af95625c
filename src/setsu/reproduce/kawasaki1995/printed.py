"""What the paper prints: counts, Table 2, and the list σ of example 3, read as in docs/minimum_parameters.md."""

from __future__ import annotations

__all__ = ["OPERATIONS", "SERIAL_ARMS", "SIGMA", "SIGMA_COUNTS"]

SIGMA_COUNTS = {"original": 80, "σ_o": 50, "σ": 39}

# Method and parameters: additions, multiplications, functions, total.
OPERATIONS = {
    ("numeric", "original"): (1083, 1254, 16, 2353),
    ("numeric", "σ_o"): (527, 628, 16, 1171),
    ("symbolic", "σ_o"): (462, 599, 10, 1071),
    ("symbolic", "σ"): (401, 528, 10, 939),
}

# Not of the paper: by the rules of Khalil and Dombre, "Modeling, Identification and Control of Robots", chapter 9.
SERIAL_ARMS = {
    "SCARA": 8, "RX-90": 36, "Stanford arm": 33, "UR10": 36, "PUMA 560": 36, "Panda": 43, "LBR iiwa": 43
}  # fmt: skip

_ALPHA = ("MSx", "MSy", "Ixx", "Ixy", "Ixz", "Iyz", "Izz")

# Combinations of the tree's parameters, as printed.
SIGMA = (
    "Izz_1",
    "MSx_2 + MSx_3p",
    "MSy_2",
    "Ixx_2 + Ixx_3p",
    "Ixy_2 + Ixy_3p",
    "Ixz_2 + Ixz_3p",
    "Iyz_2 + Iyz_3p",
    "Izz_2 + Izz_3p",
    "MSx_3 - a3/a3p*MSx_3p",
    "MSy_3",
    "Ixx_3 + Ixx_2p",
    "Ixy_3 + Ixy_2p",
    "Ixz_3 - Ixz_2p",
    "Iyz_3 - Iyz_2p",
    "Izz_3 + Izz_2p",
    *(f"{kind}_{link}" for link in (4, 5, 6) for kind in _ALPHA),
    "MSx_2p - a3/a3p*MSx_3p",
    "MSy_2p",
    "MSy_3p",
)
