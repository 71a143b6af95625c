"""Contact: points of bodies against polygons of an environment, solved exactly step by step."""

from setsu.contact.collision_shapes import with_contact_points
from setsu.contact.environment import Environment
from setsu.contact.polygon import Polygon

__all__ = ["Environment", "Polygon", "with_contact_points"]
