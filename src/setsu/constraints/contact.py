"""A point of a body held on a surface, with friction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from setsu.constraints.surfaces import Surface
from setsu.errors import InputError
from setsu.mechanism import WORLD, Mechanism
from setsu.mechanism.checks import finite_number, vector3
from setsu.spatial import listed

__all__ = ["SurfaceContact", "checked_contacts", "checked_restitution"]


@dataclass(frozen=True)
class SurfaceContact:
    """A point of a body that rests or slides on a surface C(r) = 0.

    Args:
        body: name of a body, also one behind a fixed joint.
        point: in that body's frame, m.
        surface: Plane, Sphere, Cylinder or ImplicitSurface; the body is on the side where C > 0.
        friction: coefficient K; friction is K times the normal force against the sliding velocity, and holds the
            point up to that size when it is at rest.
        bilateral: the contact may pull; otherwise the contact releases instead of pulling.
        name: for messages and recordings; the body's name when not given, numbered where a body has several.
        restitution: part of the approaching velocity with which the point leaves after an impact, 0 (plastic) to 1.

    >>> from setsu.constraints.surfaces import Plane
    >>> SurfaceContact("link2", point=(0.5, 0, 0), surface=Plane((0, 0, 1), 0.0), friction=0.2).name
    'link2'
    """

    body: str
    point: Sequence[float]
    surface: Surface
    friction: float = 0.0
    bilateral: bool = False
    name: str = ""
    restitution: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.body, str):
            raise InputError(f"SurfaceContact body: expected the name of a body, got {self.body!r}")
        what = f'SurfaceContact on "{self.body}"'
        if not isinstance(self.surface, Surface):
            raise InputError(
                f"{what} surface: expected Plane, Sphere, Cylinder or ImplicitSurface, got {self.surface!r}"
            )
        if not isinstance(self.name, str):
            raise InputError(f"{what} name: expected a text, got {self.name!r}")
        object.__setattr__(self, "point", vector3(self.point, f"{what} point"))
        object.__setattr__(self, "friction", finite_number(self.friction, f"{what} friction", minimum=0.0))
        object.__setattr__(self, "bilateral", bool(self.bilateral))
        object.__setattr__(self, "name", self.name or self.body)
        object.__setattr__(self, "restitution", checked_restitution(self.restitution, f"{what} restitution"))
        if self.bilateral and self.restitution:
            raise InputError(f"{what} restitution: a bilateral contact never hits, expected 0, got {self.restitution}")


def checked_restitution(value: float, what: str) -> float:
    """Return a coefficient of restitution, from 0 to 1."""
    e = finite_number(value, what, minimum=0.0)
    if e > 1.0:
        raise InputError(f"{what}: expected at most 1, got {value}")
    return e


def checked_contacts(
    mechanism: Mechanism, contacts: Iterable[SurfaceContact], function: str
) -> tuple[SurfaceContact, ...]:
    """Return the contacts as a tuple, each with its own name.

    Raises:
        InputError: what is no contact, one on an unknown body or the world, names that were given twice.
    """
    if isinstance(contacts, SurfaceContact):
        contacts = (contacts,)
    result = tuple(listed(contacts, f"{function}: contacts", "SurfaceContact"))
    for contact in result:
        if not isinstance(contact, SurfaceContact):
            raise InputError(f"{function}: contacts: expected SurfaceContact entries, got {contact!r:.80}")
        if mechanism.frame(contact.body).body < 0:
            kind = "the world" if contact.body == WORLD else "a body fixed to the world"
            raise InputError(f'{function}: contact "{contact.name}": expected a body that moves, got {kind}')
    return _with_own_names(result, function)


def _with_own_names(contacts: tuple[SurfaceContact, ...], function: str) -> tuple[SurfaceContact, ...]:
    """Number the contacts that have only their body's name; refuse other names that come twice."""
    counts = Counter(contact.name for contact in contacts)
    taken: set[str] = set()
    result = []
    for contact in contacts:
        name = contact.name
        if name in taken and name != contact.body:
            raise InputError(f'{function}: contacts: {counts[name]} have the name "{name}"; expected a name for each')
        number = 1
        while name in taken:
            number += 1
            name = f"{contact.body} {number}"
        taken.add(name)
        result.append(contact if name == contact.name else replace(contact, name=name))
    return tuple(result)
