"""Mechanisms to try things on: from one pendulum to random trees of every joint type."""

from setsu.sample_mechanisms.benchmark_linkages import bricard, n_four_bar, spatial_slider_crank
from setsu.sample_mechanisms.closed_chains import five_bar, four_bar, parallelogram_arm, slider_crank
from setsu.sample_mechanisms.floating_box import floating_box
from setsu.sample_mechanisms.large_trees import binary_tree, chain
from setsu.sample_mechanisms.planar_arm import planar_arm
from setsu.sample_mechanisms.puma560 import puma560
from setsu.sample_mechanisms.random_tree import random_tree
from setsu.sample_mechanisms.seven_joint_arm import seven_joint_arm
from setsu.sample_mechanisms.simple_pendulum import pendulum

__all__ = [
    "binary_tree",
    "bricard",
    "chain",
    "five_bar",
    "floating_box",
    "four_bar",
    "n_four_bar",
    "parallelogram_arm",
    "pendulum",
    "planar_arm",
    "puma560",
    "random_tree",
    "seven_joint_arm",
    "slider_crank",
    "spatial_slider_crank",
]
