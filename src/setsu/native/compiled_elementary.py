"""The elementary functions of setsu.elementary for use inside compiled code, with the same bits as in Python."""

from __future__ import annotations

from setsu import elementary
from setsu.native.control_flow import part

__all__ = ["arctan2", "cos_sin", "exp", "log"]

arctan2 = part(elementary.arctan2)
cos_sin = part(elementary.cos_sin)
exp = part(elementary.exp)
log = part(elementary.log)
