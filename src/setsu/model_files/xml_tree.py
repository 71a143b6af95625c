"""XML into a small element tree with line numbers, refusing everything a robot file has no use for.

Document type and entity declarations are refused (they are the way to entity bombs and to reading foreign files);
file size, depth, number of elements and length of attributes are limited, so that a hostile file costs little.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from setsu.errors import ModelFileError

__all__ = ["MAX_FILE_BYTES", "Element", "parse_xml"]

MAX_FILE_BYTES = 64 * 2**20
# As deep as MuJoCo's own parser goes (TinyXML-2), so that every MJCF it takes is read.
MAX_DEPTH = 500
MAX_ELEMENTS = 200_000
MAX_TEXT_LENGTH = 2**20
# How alike a name that nobody read has to be to one that was looked for and not there, or to any that was looked for.
_NEAR, _NEAR_SHORT, _NEARER = 0.75, 0.6, 0.9


@dataclass(eq=False, slots=True)
class Element:
    """One XML element: tag, attributes, children, text, and the line it starts in (from 1).

    Reading an attribute or child through `get` and `take` marks it as used, so that what nobody asked for can be
    listed afterwards by `unused`, under the element's `label` (its tag when empty).
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""
    used_attributes: set[str] = field(default_factory=set)
    used_tags: set[str] = field(default_factory=set)
    used: bool = False
    label: str = ""

    def get(self, key: str) -> str | None:
        """Return an attribute's text, or None when it is not there."""
        self.used_attributes.add(key)
        return self.attributes.get(key)

    def take(self, tag: str) -> list[Element]:
        """Return all children with this tag, in document order."""
        self.used_tags.add(tag)
        found = [child for child in self.children if child.tag == tag]
        for child in found:
            child.used = True
        return found

    def unused(self, path: str = "") -> Iterator[tuple[str, int]]:
        """Yield ("joint/limit/@current", line) and ("link/contact", line) for whatever was never read below here."""
        for key in self.attributes:
            if key not in self.used_attributes and not key.startswith("xmlns"):
                yield f"{path}@{key}", self.line
        for child in self.children:
            if child.used:
                yield from child.unused(f"{path}{child.label or child.tag}/")
            else:
                yield f"{path}{child.tag}", child.line

    def misspelt(self, path: str = "") -> Iterator[tuple[str, str, int]]:
        """Yield ("joint/limit/@lowr", "lower", line) for what was never read and is near to what was looked for."""
        for key in self.attributes:
            if key not in self.used_attributes and (meant := _meant(key, self.used_attributes, self.attributes)):
                yield f"{path}@{key}", meant, self.line
        tags = {child.tag for child in self.children}
        for child in self.children:
            if child.used:
                yield from child.misspelt(f"{path}{child.tag}/")
            elif child.tag not in self.used_tags and (meant := _meant(child.tag, self.used_tags, tags)):
                yield f"{path}{child.tag}", meant, child.line


def _meant(name: str, known: set[str], there: Iterable[str]) -> str:
    """The known name that another one was to be, or nothing."""
    cutoff = _NEAR if len(name) > 3 else _NEAR_SHORT
    near = difflib.get_close_matches(name.lower(), sorted(known.difference(there)), 1, cutoff)
    return (near or difflib.get_close_matches(name.lower(), sorted(known), 1, _NEARER) or [""])[0]


class _RefusedError(Exception):
    """Raised inside a parser callback to stop at something that is not accepted."""


class _TreeMaker:
    """Callbacks of the parser; they build the tree and watch the limits."""

    def __init__(self, parser: expat.XMLParserType) -> None:
        self.parser = parser
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        # Once a callback has refused the file, pyexpat may still deliver a few events: they are ignored.
        self.refusal: str | None = None
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.entity

    def refuse(self, what: str) -> None:
        self.refusal = what
        raise _RefusedError

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS:
            self.refuse(f"more than {MAX_ELEMENTS} elements, expected a robot description")
        if len(self.open) >= MAX_DEPTH:
            self.refuse(f"elements nested deeper than {MAX_DEPTH}, expected a robot description")
        for key, value in attributes.items():
            if len(key) + len(value) > MAX_TEXT_LENGTH:
                what = f'attribute "{key[:40]}" of <{tag[:40]}> is {len(value)} characters long'
                self.refuse(f"{what}, expected at most {MAX_TEXT_LENGTH}")
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, _tag: str) -> None:
        self.open.pop()

    def characters(self, text: str) -> None:
        element = self.open[-1]
        if len(element.text) + len(text) > MAX_TEXT_LENGTH:
            self.refuse(f"text of <{element.tag[:40]}> is longer than {MAX_TEXT_LENGTH} characters")
        element.text += text

    def doctype(self, name: str, *_: object) -> None:
        self.refuse(f"document type declaration <!DOCTYPE {name[:40]}>, which is not accepted; remove it")

    def entity(self, name: str, *_: object) -> None:
        self.refuse(f"entity declaration {name[:40]}, which is not accepted; remove it")


def parse_xml(data: bytes, path: str) -> Element:
    """Return the root element of an XML document; ModelFileError with path and line when it is malformed or refused.

    >>> parse_xml(b"<robot name='r'><link name='a'/></robot>", "r.urdf").children[0].attributes
    {'name': 'a'}
    """
    if len(data) > MAX_FILE_BYTES:
        raise ModelFileError(path, [f"{path}: {len(data)} bytes, expected at most {MAX_FILE_BYTES}"])
    if not data.strip():
        raise ModelFileError(path, [f"{path}: the file is empty, expected XML"])
    parser = expat.ParserCreate()
    maker = _TreeMaker(parser)
    try:
        parser.Parse(data, True)
    except _RefusedError:
        raise ModelFileError(path, [f"{path}:{parser.CurrentLineNumber}: {maker.refusal}"]) from None
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise ModelFileError(
            path, [f"{path}:{error.lineno}: not well-formed XML ({what}), column {error.offset + 1}"]
        ) from None
    except (LookupError, ValueError) as error:  # an encoding Python does not know or cannot use here
        raise ModelFileError(path, [f"{path}:1: cannot decode the text: {error}"]) from None
    assert maker.root is not None  # a document without a root element is an ExpatError
    return maker.root
