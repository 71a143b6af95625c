"""Logs of messages that other tools read and write: MCAP files, ROS 2 joint states in CDR, scenes for 3D viewers."""
