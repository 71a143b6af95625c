"""Where the methods come from: `setsu.citation` names the sources of the functions a work uses."""

from setsu.citations.citing import Citation, citation

__all__ = ["Citation", "citation"]
