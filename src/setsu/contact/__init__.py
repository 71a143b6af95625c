"""Contact: points of bodies against polygons of an environment, solved exactly step by step; raw contact problems."""

from setsu.contact.environment import Environment
from setsu.contact.mesh_parts import with_convex_parts
from setsu.contact.polygon import Polygon
from setsu.contact.raw_problem import ContactSolution, solve

__all__ = ["ContactSolution", "Environment", "Polygon", "solve", "with_convex_parts"]
