"""Setsu: dynamics of link systems."""
