"""In which line of an MJCF file an element stands."""

from __future__ import annotations

from setsu.model_files.xml_tree import Element

__all__ = ["Lines"]


class Lines:
    """Lines of the named elements of a document; 0 for what stands in an included file or has no name."""

    def __init__(self, root: Element) -> None:
        self._lines: dict[tuple[str, str], int] = {}
        self._first: dict[str, int] = {}
        waiting = [root]
        while waiting:
            element = waiting.pop()
            self._first.setdefault(element.tag, element.line)
            if "name" in element.attributes:
                self._lines.setdefault((element.tag, element.attributes["name"]), element.line)
            waiting.extend(reversed(element.children))

    def of(self, tag: str, name: str) -> int:
        """Line of the element with this tag and name."""
        return self._lines.get((tag, name), 0)

    def first(self, tag: str) -> int:
        """Line of the first element with this tag."""
        return self._first.get(tag, 0)
