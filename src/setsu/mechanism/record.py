"""The frozen mechanism: declared elements, and what follows from them (names, counts, frames, digest)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from setsu.elementary import matmul
from setsu.errors import InputError, nearest_names
from setsu.mechanism.actuators import Actuator, Keyframe
from setsu.mechanism.elements import WORLD, Body, ContactPoint, Coupling, Loop, Pose, Site, Spring
from setsu.mechanism.force_elements import Fluid, Tendon
from setsu.mechanism.joints import Fixed, Free, Spherical
from setsu.spatial import random_generator

if TYPE_CHECKING:
    from pathlib import Path

    from setsu.mechanism.tables import Tables

__all__ = ["Frame", "Mechanism"]


@dataclass(frozen=True)
class Frame:
    """Where a declared body or site sits: `body` is the index of the moving body that carries it (-1: the world)."""

    name: str
    body: int
    pose: Pose


@dataclass(frozen=True)
class Mechanism:
    """A multibody system: bodies with joints, loops, what exerts force. Made by MechanismBuilder or load.

    `bodies` are all declared bodies, parents before children; those behind fixed joints are merged into the body
    that carries them, so that `body_names` lists moving bodies only, while every declared name is a frame.
    `independent` are the joints a model file calls so: `independent_coordinates` takes them first.
    `missing` names what the model file has and the mechanism does not: one text per element that moves, closes or
    pushes something. compensation_by_actuators: gravity compensation of bodies is part of `actuator_torque` and not a
    force of its own. excluded: pairs of bodies that never touch each other, whatever their collision shapes.
    """

    name: str
    gravity: tuple[float, float, float]
    bodies: tuple[Body, ...]
    loops: tuple[Loop, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    springs: tuple[Spring, ...] = ()
    contact_points: tuple[ContactPoint, ...] = ()
    sites: tuple[Site, ...] = ()
    tendons: tuple[Tendon, ...] = ()
    fluid: Fluid | None = None
    actuators: tuple[Actuator, ...] = ()
    keys: tuple[Keyframe, ...] = ()
    reference: tuple[float, ...] = ()
    independent: tuple[str, ...] = ()
    compensation_by_actuators: bool = False
    missing: tuple[str, ...] = ()
    excluded: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        # Elements check their own numbers; what they name is checked here, however the mechanism was made.
        if len(self.gravity) != 3 or 0.0 * sum(map(float, self.gravity)) != 0.0:
            raise InputError(f"mechanism {self.name}: expected 3 finite numbers of gravity, got {self.gravity}")
        for kind, names in self.names.items():
            if len(set(names)) < len(names):
                repeated = next(name for name in names if names.count(name) > 1)
                raise InputError(f'mechanism {self.name}: expected names of their own, got {kind} "{repeated}" twice')
        bodies, joints = {WORLD}, set(self.names["joint"])
        for body in self.bodies:
            if body.name == WORLD:
                raise InputError(f'mechanism {self.name}: "world" is the fixed frame every mechanism has')
            self._require(body.parent, bodies, f'parent of body "{body.name}"')
            bodies.add(body.name)
        for pair in (*self.loops, *self.springs):
            for body in (pair.body_a, pair.body_b):
                self._require(body, bodies, f'{type(pair).__name__.lower()} "{pair.name}"')
        for element in (*self.contact_points, *self.sites):
            self._require(element.body, bodies, type(element).__name__)
        for coupling in self.couplings:
            for joint in coupling.joints:
                self._require(joint, joints, f'coupling "{coupling.name}"')

    def _require(self, name: str, known: set[str], what: str) -> None:
        """InputError for a name that no body or joint before has."""
        if name not in known:
            raise InputError(
                f"mechanism {self.name}, {what}: unknown name {name!r}{nearest_names(name, sorted(known))}"
            )

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """Names of all declared elements by kind; those of one kind differ."""
        joints = [element.joint for element in (*self.bodies, *self.loops)]
        kinds = {"body": self.bodies, "joint": joints, "loop": self.loops, "coupling": self.couplings,
                 "spring": self.springs, "tendon": self.tendons, "actuator": self.actuators,
                 "site": self.sites}  # fmt: skip
        return {kind: [element.name for element in elements] for kind, elements in kinds.items()}

    @cached_property
    def moving(self) -> tuple[Body, ...]:
        """Bodies whose joint is not fixed, in order."""
        return tuple(body for body in self.bodies if not isinstance(body.joint, Fixed))

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of the moving bodies, parents before children."""
        return tuple(body.name for body in self.moving)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, one per moving body, in the order of body_names."""
        return tuple(body.joint.name for body in self.moving)

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(body.joint.nq for body in self.moving)

    @cached_property
    def nv(self) -> int:
        """Number of velocities."""
        return sum(body.joint.nv for body in self.moving)

    @cached_property
    def n_bodies(self) -> int:
        """Number of moving bodies."""
        return len(self.moving)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Where each moving body's joint coordinates stand in q."""
        return _slices([body.joint.nq for body in self.moving])

    @cached_property
    def v_slices(self) -> tuple[slice, ...]:
        """Where each moving body's joint velocities stand in v."""
        return _slices([body.joint.nv for body in self.moving])

    @cached_property
    def frames(self) -> dict[str, Frame]:
        """Every declared body and site (and "world") by name: the moving body that carries it and its pose there.

        A site whose name a body has is called "site:NAME".
        """
        identity = Pose()
        frames = {WORLD: Frame(WORLD, -1, identity)}
        index = 0
        for body in self.bodies:
            if isinstance(body.joint, Fixed):
                carrier = frames[body.parent]
                pose = Pose.of(matmul(carrier.pose.matrix, body.pose.matrix), f'body "{body.name}" pose')
                frames[body.name] = Frame(body.name, carrier.body, pose)
            else:
                frames[body.name] = Frame(body.name, index, identity)
                index += 1
        for site in self.sites:
            carrier = frames[site.body]
            pose = Pose.of(carrier.pose.matrix @ site.pose.matrix, f'site "{site.name}" pose')
            name = f"site:{site.name}" if site.name in frames else site.name
            frames[name] = Frame(name, carrier.body, pose)
        return frames

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames: "world", bodies, links behind fixed joints, sites."""
        return tuple(self.frames)

    def frame(self, name: str) -> Frame:
        """Return the frame of a declared body by name; InputError with the nearest names when unknown."""
        try:
            return self.frames[name]
        except (KeyError, TypeError):
            raise InputError(f"unknown body {name!r} in {self.name}{nearest_names(name, self.frames)}") from None

    def declared_body(self, frame: str) -> str:
        """Return the name of the declared body that has a frame: itself for a body, the owner of a site."""
        self.frame(frame)
        return self._site_bodies.get(frame, frame)

    @cached_property
    def _site_bodies(self) -> dict[str, str]:
        bodies = {WORLD, *(body.name for body in self.bodies)}
        return {f"site:{site.name}" if site.name in bodies else site.name: site.body for site in self.sites}

    @cached_property
    def bodies_by_name(self) -> dict[str, Body]:
        """Every declared body by name."""
        return {body.name: body for body in self.bodies}

    def joint_index(self, name: str) -> int:
        """Return the position of a joint in joint_names; InputError with the nearest names when unknown."""
        try:
            return self._joint_positions[name]
        except (KeyError, TypeError):
            raise InputError(f"unknown joint {name!r} in {self.name}{nearest_names(name, self.joint_names)}") from None

    @cached_property
    def _joint_positions(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.joint_names)}

    @cached_property
    def total_mass(self) -> float:
        """Mass of all declared bodies, those fixed to the world included (kg); see `moving_mass`."""
        return float(sum(body.mass for body in self.bodies))

    @cached_property
    def moving_mass(self) -> float:
        """Mass that a joint moves (kg): of all bodies but those fixed to the world.

        `center_of_mass`, `momentum` and `potential_energy` are of this mass.
        """
        return float(sum(body.mass for body in self.bodies if self.frames[body.name].body >= 0))

    @cached_property
    def damping(self) -> NDArray[np.float64]:
        """Viscous friction of the joints, (nv,)."""
        return self._per_velocity("damping")

    @cached_property
    def coulomb(self) -> NDArray[np.float64]:
        """Dry friction of the joints, (nv,)."""
        return self._per_velocity("coulomb")

    @cached_property
    def has_bearings(self) -> bool:
        """Whether a joint, of the tree or of a loop, has friction that depends on its load."""
        joints = [*(body.joint for body in self.moving), *(loop.joint for loop in self.loops)]
        return any(joint.has_bearing for joint in joints)

    @cached_property
    def has_force_elements(self) -> bool:
        """Whether springs between points, tendons, a fluid, gravity compensation or springs of quaternions act."""
        return bool(
            self.springs
            or any(tendon.exerts_force for tendon in self.tendons)
            or (self.fluid is not None and self.fluid.boxes and (self.fluid.density or self.fluid.viscosity))
            or (not self.compensation_by_actuators and any(body.gravity_compensation for body in self.bodies))
            or any(body.joint.nq != body.joint.nv and any(body.joint.stiffness) for body in self.moving)  # type: ignore[arg-type]
        )

    @cached_property
    def keyframes(self) -> dict[str, Keyframe]:
        """The states the model file gives, by name."""
        return {key.name: key for key in self.keys}

    @cached_property
    def armature(self) -> NDArray[np.float64]:
        """Reflected drive inertia of the joints, (nv,)."""
        return self._per_velocity("armature")

    @cached_property
    def lower(self) -> NDArray[np.float64]:
        """Lower limits of the joint coordinates, (nv,); -inf where there is none."""
        return self._per_velocity("lower")

    @cached_property
    def upper(self) -> NDArray[np.float64]:
        """Upper limits of the joint coordinates, (nv,); inf where there is none."""
        return self._per_velocity("upper")

    @cached_property
    def velocity_limit(self) -> NDArray[np.float64]:
        """Largest |v|, (nv,)."""
        return self._per_velocity("velocity_limit")

    @cached_property
    def effort_limit(self) -> NDArray[np.float64]:
        """Largest |tau|, (nv,)."""
        return self._per_velocity("effort_limit")

    def _per_velocity(self, key: str) -> NDArray[np.float64]:
        values = np.array([entry for body in self.moving for entry in getattr(body.joint, key)], dtype=np.float64)
        values.flags.writeable = False
        return values

    @cached_property
    def tables(self) -> Tables:
        """The flat tables the kernels read."""
        from setsu.mechanism.tables import make_tables

        return make_tables(self)

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the content (64 hex digits): equal for equal mechanisms, stable between runs."""
        return hashlib.sha256(repr(self.content).encode()).hexdigest()

    @property
    def content(self) -> tuple[object, ...]:
        """Everything that makes this mechanism what it is, as nested tuples."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def __hash__(self) -> int:
        return int(self.digest[:15], 16)

    def __getstate__(self) -> dict[str, object]:
        """Return what travels to another process or into a copy: the content; all that follows from it is made anew."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def neutral(self) -> NDArray[np.float64]:
        """Return the configuration with every coordinate 0 and every quaternion the identity, (nq,)."""
        q = np.zeros(self.nq)
        q[self._quaternion_ends] = 1.0
        return q

    @cached_property
    def _quaternion_ends(self) -> list[int]:
        """Where the last numbers of quaternions stand in q."""
        joints = zip(self.moving, self.q_slices, strict=True)
        return [where.stop - 1 for body, where in joints if isinstance(body.joint, (Spherical, Free))]

    def keyframe(self, name: str) -> Keyframe:
        """Return a keyframe by name; InputError with the nearest names when unknown."""
        try:
            return self.keyframes[name]
        except (KeyError, TypeError):
            raise InputError(f"unknown keyframe {name!r} in {self.name}{nearest_names(name, self.keyframes)}") from None

    def reference_configuration(self) -> NDArray[np.float64]:
        """Return the configuration the model file draws (MJCF: qpos0; SDF: the poses given), else neutral, (nq,)."""
        return np.array(self.reference) if self.reference else self.neutral()

    def random_configuration(self, seed: int | np.random.Generator) -> NDArray[np.float64]:
        """Draw a configuration: uniform within limits (±pi rad or ±1 m without), quaternions uniform, (nq,)."""
        from setsu.mechanism.sampling import random_configuration

        return random_configuration(self, random_generator(seed, "random_configuration"))

    def summary(self, width: int = 100) -> str:
        """Return printable tables of bodies, joints, masses, loops and couplings; width: columns of the page."""
        from setsu.mechanism.summary import summary

        return summary(self, width)

    def save(self, path: str | Path) -> None:
        """Write the mechanism in the format its name ends in.

        .toml: the native text format; `load` gives back an equal mechanism, to the last bit. .urdf: URDF, loops in the
        form of URDF+. .xml, .mjcf: MJCF, loops as connect and weld. A ModelWarning names what a format cannot hold.
        """
        from setsu.mechanism.native_text import save

        save(self, path)

    def __repr__(self) -> str:
        return f"Mechanism({self.name!r}, bodies={self.n_bodies}, nq={self.nq}, nv={self.nv}, loops={len(self.loops)})"


def _slices(lengths: list[int]) -> tuple[slice, ...]:
    ends = np.cumsum([0, *lengths]).tolist()
    return tuple(slice(start, stop) for start, stop in pairwise(ends))
