"""Mechanisms to try things on: pendulums, arms, closed linkages, parallel robots, a humanoid, random trees."""

from setsu.sample_mechanisms.benchmark_linkages import bricard, n_four_bar, spatial_slider_crank
from setsu.sample_mechanisms.closed_chains import five_bar, four_bar, parallelogram_arm, slider_crank
from setsu.sample_mechanisms.closed_leg_biped import closed_leg_biped
from setsu.sample_mechanisms.closed_link_manipulators import six_joint_parallelogram_arm, two_joint_parallelogram
from setsu.sample_mechanisms.delta_robot import delta_robot
from setsu.sample_mechanisms.excavator_boom import excavator_boom
from setsu.sample_mechanisms.floating_box import floating_box
from setsu.sample_mechanisms.flyball_governor import flyball_governor
from setsu.sample_mechanisms.hoap1_like import hoap1_like
from setsu.sample_mechanisms.jansen_leg import jansen_leg
from setsu.sample_mechanisms.large_trees import binary_tree, chain
from setsu.sample_mechanisms.planar_arm import planar_arm
from setsu.sample_mechanisms.puma560 import puma560
from setsu.sample_mechanisms.quadruped import quadruped
from setsu.sample_mechanisms.random_tree import random_tree
from setsu.sample_mechanisms.serial_arms import iiwa, panda_arm, rx90, scara, stanford_arm, ur10
from setsu.sample_mechanisms.seven_joint_arm import seven_joint_arm
from setsu.sample_mechanisms.simple_pendulum import pendulum
from setsu.sample_mechanisms.stewart_platform import stewart_platform

__all__ = [
    "binary_tree",
    "bricard",
    "chain",
    "closed_leg_biped",
    "delta_robot",
    "excavator_boom",
    "five_bar",
    "floating_box",
    "flyball_governor",
    "four_bar",
    "hoap1_like",
    "iiwa",
    "jansen_leg",
    "n_four_bar",
    "panda_arm",
    "parallelogram_arm",
    "pendulum",
    "planar_arm",
    "puma560",
    "quadruped",
    "random_tree",
    "rx90",
    "scara",
    "seven_joint_arm",
    "six_joint_parallelogram_arm",
    "slider_crank",
    "spatial_slider_crank",
    "stanford_arm",
    "stewart_platform",
    "two_joint_parallelogram",
    "ur10",
]
