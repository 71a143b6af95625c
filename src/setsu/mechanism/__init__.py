"""Mechanisms: bodies, joints, loops, couplings, springs and contact points, and the frozen record they make."""
