"""The algorithms, one file each, as step functions over links and velocities (see program.py)."""
