"""The elementary functions of setsu.elementary for use inside compiled code, with the same bits as in Python."""

from __future__ import annotations

from setsu import elementary
from setsu.native.control_flow import inline

__all__ = ["arctan2", "cos_sin", "exp", "log"]

arctan2 = inline(elementary.arctan2)
cos_sin = inline(elementary.cos_sin)
exp = inline(elementary.exp)
log = inline(elementary.log)
