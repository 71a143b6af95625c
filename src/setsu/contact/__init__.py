"""Contact: points of bodies against polygons of an environment, solved exactly step by step."""

from setsu.contact.environment import Environment
from setsu.contact.polygon import Polygon

__all__ = ["Environment", "Polygon"]
