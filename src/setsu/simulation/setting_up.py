"""Options of a simulator, checked, and the blocks of worlds that follow from it."""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.contact import SurfaceContact, checked_contacts
from setsu.constraints.prescribed import Prescribed
from setsu.contact import Environment
from setsu.dynamics.catalogue import require_mass, require_mechanism
from setsu.errors import InputError, ModelWarning, nearest_names
from setsu.kernels.tableaus import EXPLICIT
from setsu.mechanism import Mechanism, with_contact_points
from setsu.simulation.driven_joints import checked_prescribed
from setsu.simulation.events import CloseLoop, OpenLoop, checked_events
from setsu.simulation.joint_friction import has_dry_friction
from setsu.simulation.joint_servo import JointServo
from setsu.spatial import listed

if TYPE_CHECKING:
    from setsu.simulation.block import Arrays, Block

__all__ = ["CONTACT_SOLVERS", "INTEGRATORS", "Settings", "make_blocks"]

Floats = NDArray[np.float64]

INTEGRATORS = (*EXPLICIT, "radau", "time_stepping")
CONTACT_SOLVERS = ("default", "sugihara2002")
_TOLERANCE = 1e-10
_BLOCK = 64  # rows of a block of trees: work arrays stay in a near cache, threads share blocks


@dataclass(frozen=True)
class Settings:
    """The options of a simulator, checked."""

    mechanisms: tuple[Mechanism, ...]
    step: float
    law: Any
    contacts: tuple[SurfaceContact, ...]
    environment: Environment | None
    contact_solver: str
    body_contacts: bool | str
    exclude: tuple[tuple[str, str], ...]
    integrator: str
    tolerance: float
    record: tuple[str, ...] | None
    events: tuple[CloseLoop | OpenLoop, ...]
    joint_stops: bool
    baumgarte: float | None
    prescribed: tuple[Prescribed, ...] = ()

    @staticmethod
    def checked(
        mechanisms: Sequence[Mechanism],
        step: float,
        law: Any,
        contacts: Sequence[SurfaceContact],
        environment: Environment | None,
        contact_solver: str,
        body_contacts: bool | str,
        exclude: Sequence[tuple[str, str]],
        integrator: str | None,
        tolerance: float | None,
        record: Sequence[str] | None,
        events: Sequence[CloseLoop | OpenLoop],
        joint_stops: bool,
        baumgarte: float | None,
        prescribed: Iterable[Prescribed] = (),
    ) -> Settings:
        """Return the settings; InputError for what is wrong, before any work."""
        given = listed(mechanisms, "simulate: mechanism", "mechanisms, or one")
        if not given:
            require_mechanism(None, "simulate")
        for m in given:
            require_mechanism(m, "simulate")
            if not m.nv:
                raise InputError(f"simulate: {m.name} has no joint that moves; expected one at least")
        first = given[0]
        for m in given[1:]:
            if (m.nq, m.nv, m.joint_names, m.body_names) != (first.nq, first.nv, first.joint_names, first.body_names):
                raise InputError(f"Simulator: {m.name} has another topology than {first.name}; expected one for all")
        if environment is not None and not isinstance(environment, Environment):
            raise InputError(f"simulate: environment: expected an Environment, got {environment!r:.80}")
        exclude = tuple(listed(exclude, "simulate: exclude", "pairs of body names"))
        if environment is None and (body_contacts or exclude):
            raise InputError(
                "simulate: body_contacts and exclude need an environment: without one nothing touches; "
                "Environment() is empty space"
            )
        if contact_solver not in CONTACT_SOLVERS:
            raise InputError(
                f"simulate: contact_solver: unknown {contact_solver!r}"
                f"{nearest_names(str(contact_solver), CONTACT_SOLVERS)}"
            )
        if environment is None and contact_solver != "default":
            raise InputError(f"simulate: contact_solver {contact_solver!r} needs an environment: nothing touches here")
        if not isinstance(joint_stops, bool | np.bool_):
            raise InputError(f"simulate: joint_stops: expected True or False, got {joint_stops!r:.80}")
        chosen = _chosen_integrator(integrator, environment, baumgarte)
        error = _TOLERANCE if tolerance is None else positive(tolerance, "tolerance")
        if tolerance is not None and chosen != "adaptive":
            raise InputError(
                f"simulate: tolerance is that of integrator 'adaptive' and means nothing to {chosen!r}; expected None, "
                "or a shorter step"
            )
        held = checked_contacts(first, contacts, "simulate")
        drives = checked_prescribed(first, prescribed)
        if environment is not None:
            given = [_able_to_touch(m) for m in given]
        made = Settings(
            tuple(given), positive(step, "step"), law, tuple(held), environment, contact_solver, body_contacts,
            exclude, chosen, error, _recorded(record),
            tuple(checked_events(first, events, np.inf)), bool(joint_stops),
            None if baumgarte is None else positive(baumgarte, "baumgarte"), drives,
        )  # fmt: skip
        if baumgarte is not None and all(map(made.leave_free, given)):
            raise InputError(f"simulate: baumgarte has nothing to stabilise: no constraint holds {first.name}")
        return made

    @property
    def function_or_array(self) -> Any:
        """The torque but for a joint servo that contact treats implicitly."""
        return None if self.environment is not None and isinstance(self.law, JointServo) else self.law

    @cached_property
    def kind(self) -> str:
        """What two simulators have to have in common for one to go on from the other's state, but for laws."""
        driven = [drive.joint for drive in self.prescribed]
        options = (self.step, self.integrator, self.tolerance, self.contacts, self.contact_solver, self.body_contacts,
                   self.exclude, self.joint_stops, self.baumgarte, self.events, driven)  # fmt: skip
        around = self.environment or Environment()
        made = hashlib.sha256(repr((options, around.shapes, self.environment is None)).encode())
        for polygon in around.polygons:
            made.update(polygon.vertices.tobytes())
            made.update(repr((polygon.unbounded, polygon.material, polygon.velocity)).encode())
        return repr(([m.digest for m in self.mechanisms], made.hexdigest()))

    def leave_free(self, m: Mechanism) -> bool:
        """Whether nothing constrains one of the mechanisms."""
        held = self.contacts or self.joint_stops or self.prescribed
        return not (held or m.loops or m.couplings or has_dry_friction(m))


def make_blocks(
    settings: Settings, arrays: Arrays, batched: bool, law: Callable[[int, float, Floats, Floats], Floats]
) -> list[Block]:
    """Return the worlds of a simulator in blocks; law: (world, t, q, v) -> torque, for decisions between steps."""
    count, mechanisms = len(arrays.q), settings.mechanisms
    each = mechanisms if len(mechanisms) == count else mechanisms * count
    if settings.environment is not None:
        from setsu.simulation.contact_world import ContactWorld

        return [ContactWorld(m, arrays.rows(k, k + 1), k, settings, partial(law, k)) for k, m in enumerate(each)]
    code: Any = None
    lanes = settings.integrator in EXPLICIT and settings.integrator != "adaptive"
    keep = frozenset(settings.record or (() if batched else ("acceleration", "ledger")))
    blocks: list[Block] = []
    done = 0
    while done < count:
        m = each[done]
        if lanes and settings.leave_free(m):
            from setsu.simulation.stages import make_method
            from setsu.simulation.tree_block import TreeBlock
            from setsu.simulation.tree_machine import Unrolling

            code = code or Unrolling(m)
            method, size = make_method(EXPLICIT[settings.integrator]), 1 if len(mechanisms) > 1 else _BLOCK
            rows = arrays.rows(done, min(done + size, count))
            made = TreeBlock(m, rows, done, method, settings.step, keep, code)
        else:
            from setsu.simulation.constrained_world import ConstrainedWorld

            made = ConstrainedWorld(m, arrays.rows(done, done + 1), done, settings, partial(law, done))
        blocks.append(made)
        done += made.count
    return blocks


def positive(value: float, what: str) -> float:
    """Return a positive finite number; InputError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise InputError(f"simulate: {what}: expected a positive number, got {value!r:.80}")
    if not 0.0 < value <= sys.float_info.max:
        raise InputError(f"simulate: {what}: expected a positive finite number, got {value!s:.80}")
    return float(value)


def _chosen_integrator(name: str | None, environment: object, baumgarte: float | None) -> str:
    """The integrator by name; a named one is used or refused, never replaced."""
    if environment is not None and baumgarte is not None:
        raise InputError(
            "simulate: baumgarte cannot be combined with an environment: loops hold at the end of every step there, by "
            "the contact solve itself, which has no gains"
        )
    if name is None:
        return "rk4" if environment is None else "time_stepping"
    if not isinstance(name, str) or name not in INTEGRATORS:
        raise InputError(f"simulate: unknown integrator {name!r}{nearest_names(str(name), INTEGRATORS)}")
    if environment is None:
        if name == "time_stepping":
            raise InputError("simulate: integrator 'time_stepping' needs an environment; without, take 'rk4'")
        return name
    if name not in ("time_stepping", "semi_implicit"):
        raise InputError(
            f"simulate: integrator {name!r} cannot step over impacts; with an environment it is 'time_stepping'"
        )
    return "time_stepping"


def _recorded(record: Sequence[str] | None) -> tuple[str, ...] | None:
    if record is None:
        return None
    names = (record,) if isinstance(record, str) else tuple(listed(record, "simulate: record", "names of quantities"))
    for name in names:
        if not isinstance(name, str) or name not in RECORDED:
            raise InputError(f"simulate: record: unknown quantity {name!r}{nearest_names(str(name), RECORDED)}")
    return names


RECORDED = (
    "time", "q", "v", "acceleration", "torque", "energy", "ledger", "joint_wrenches", "normal_force", "friction_force",
    "contact_force", "loop_wrench", "constraint_error", "events", "contact_log", "body_contacts",
)  # fmt: skip
"""What `record` may name. time, q, v and torque are always kept; what follows from the stored state is computed when it
is asked for, anything else that was not recorded is an error (NotRecorded)."""


def _able_to_touch(m: Mechanism) -> Mechanism:
    """The mechanism with points that can touch: its own, or those of its collision shapes if it has none."""
    require_mass(m, "simulate with an environment")
    if m.contact_points:
        return m
    found = with_contact_points(m)
    if not found.contact_points and not any(body.collisions for body in m.bodies):
        warnings.warn(
            f"simulate: {m.name} has neither contact points nor collision shapes: nothing of it can touch the "
            "environment; see MechanismBuilder.add_contact_points",
            ModelWarning,
            stacklevel=5,
        )
    return found
