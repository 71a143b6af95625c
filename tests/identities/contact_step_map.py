"""One time-stepping step in an environment as a smooth map in NumPy, written apart from the one that is differentiated.

Symbols and equations are those of setsu/simulation/contact_step.py, for trees: (1)-(8). The contacts are held in the
modes that the machine found; many states are evaluated at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from identities.contact_step_momentum import TreeMomenta, cross, turning_of
from numpy.typing import NDArray

from setsu.contact.free_motion import GIVEN, KD, KP, POSITION, TORQUE, VELOCITY, V
from setsu.contact.impulses import RECOVERY_DEPTH
from setsu.contact.scene import N_CONTACTS, STOP
from setsu.dynamics import integrate, kinetic_energy, mass_matrix, potential_energy
from setsu.dynamics.catalogue import native_function
from setsu.errors import InputError
from setsu.mechanism import Mechanism

__all__ = ["ContactStep", "Outcome"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# The machine's own thresholds (contact/flight.py, free_motion.py, step.py), by which the branches of a step are told.
_STILL, _FAST, _TURNING, _TURNS, _TURNS_OF_TREES = 1e-7, 1e-5, 1e-4, 20, 3
_INSIDE, _RECOVERY, _COMPLIANCE = 1e-8, 0.2, 5e-7
_STICKING = 1e-7
# rad: turns of a step that change by less no longer change it.
_SETTLED = 1e-17


@dataclass
class Outcome:
    """What a batch of B steps comes to: q (B, nq), velocity v (B, nv) before (7), w (B, c, 3) and λ of closed contacts.

    p (B, nv), gain and T (B,): of (7).
    """

    q: Floats
    v: Floats
    w: Floats
    p: Floats
    gain: Floats
    T: Floats


@dataclass
class _Flight:
    """Work of one evaluation."""

    q: Floats
    v: Floats
    nu: Floats
    next: Floats
    start: tuple[Floats, Floats]
    middle: tuple[Floats, Floats]


class ContactStep:
    """The step that a ContactWorld has just taken, from q (nq,), v (nv,), with `before` = `motion` as it was then."""

    def __init__(self, world: Any, q: Floats, v: Floats, before: dict[str, Floats]) -> None:
        self.m: Mechanism = world.mechanism
        m, motion, tree, problem = self.m, world.motion, world.tree, world.problem
        self.h, self.tree = float(world.step), tree
        self.poses_and_axes = native_function(m, "poses_and_axes").fast
        self.bias_torque = native_function(m, "bias_torque springs" if m.has_force_elements else "bias_torque").fast
        a = motion.vectors
        self.gains = {
            name: a[row].copy() for name, row in (("kp", KP), ("kd", KD), ("at", POSITION), ("rate", VELOCITY))
        }
        self.torque = a[TORQUE].copy()
        self.single = motion.coordinate >= 0
        self.coordinate = np.where(self.single, motion.coordinate, 0)
        self.recovery, self.given = (
            RECOVERY_DEPTH * float(before["recovery_share"][0]),
            float(before["energies"][GIVEN]),
        )
        # The world goes on: what the step found is kept.
        self.jumped, self.roots = tree.jumps.copy(), tree.roots.copy()
        self.jumps = self.jumped[tree.reference[tree.dof_body]] == 1
        self.far = self.h * float(np.abs(v).max(initial=0.0))
        self.elastic = bool(motion.elastic[0])
        self.weight, self.total_mass = float(motion.weight[0]), float(tree.total_mass[0])
        parent = m.tables.dof_parent
        self.moves = np.zeros((m.n_bodies, m.nv), dtype=bool)  # which velocities move a body
        for body in range(m.n_bodies):
            d = int(tree.last[body])
            while d >= 0:
                self.moves[body, d] = True
                d = int(parent[d])
        self.momenta = TreeMomenta(m, tree, self.roots, self.moves)
        self._read_contacts(world, problem.contacts[: problem.counts[N_CONTACTS]], world.scene.points)
        self.keeps = False  # whether (8) of flight.py acts instead of (7)
        self.still = self.far <= _STILL and self.h * float(np.abs(a[V].copy()).max(initial=0.0)) <= _STILL
        self.out: Bools = np.zeros(len(self.listed), dtype=bool)  # contacts that (6) moves

    def _read_contacts(self, world: Any, contacts: Any, points: Any) -> None:
        """Modes of the contacts, and what stays the same of them."""
        m = self.m
        names = [*world.point_names]
        for c in contacts:
            if c["point"] < 0 and c["point"] != STOP and c["impulse"][0] > 0.0:
                raise InputError(
                    f"Simulator.derivatives: in this step of {m.name} bodies touch each other; expected contact points "
                    "of the mechanism at polygons, and stops of joints"
                )
        listed = contacts[(contacts["point"] >= 0) | (contacts["point"] == STOP)].copy()
        self.at_stop = listed["point"] == STOP
        self.stops = world.scene.stops[listed["face"][self.at_stop]].copy()
        self.stop_names = [f'the stop of "{_joint_at(m, int(stop["velocity"]))}"' for stop in self.stops]
        self.stop_rows = np.zeros((len(self.stops), m.nv))
        self.stop_rows[np.arange(len(self.stops)), self.stops["velocity"]] = self.stops["sign"] * self.stops["lever"]
        for field_name, what in (("bounces", "bounces"), ("soft", "is soft")):
            if (listed[field_name] > 0).any():
                name = names[int(listed["point"][np.argmax(listed[field_name] > 0)])]
                raise InputError(
                    f"Simulator.derivatives: contact point {name} {what}; such steps are not differentiated"
                )
        if (np.abs(listed["couple"]) > 0.0).any():
            raise InputError("Simulator.derivatives: torsional and rolling friction are not differentiated")
        touching = listed[~self.at_stop]
        if len(touching) and (points["radius"][touching["point"]] > 0.0).any():
            flat = np.abs(touching["axes"][:, 0] - world.scene.polygons["normal"][touching["face"]]).max(initial=0.0)
            if flat > 1e-12:
                raise InputError("Simulator.derivatives: a ball on the rim of a polygon is not differentiated")
        ends = iter(self.stop_names)
        self.listed = listed
        self.names = [names[int(k)] if k >= 0 else next(ends) for k in listed["point"]]
        # A stop has neither a place nor a direction in space: zeros stand for them.
        self.body, self.radius = np.zeros(len(listed), dtype=np.int64), np.zeros(len(listed))
        self.at, self.E, self.offset = np.zeros((len(listed), 3)), listed["axes"].copy(), listed["offset"].copy()
        p = points[touching["point"]]
        self.body[~self.at_stop], self.radius[~self.at_stop] = p["body"], p["radius"]
        self.at[~self.at_stop] = p["position"]
        self.body[self.at_stop] = self.tree.dof_body[self.stops["velocity"]]
        self.E[self.at_stop], self.offset[self.at_stop] = 0.0, 0.0
        self.closed = listed["impulse"][:, 0] > 0.0
        rubbing = np.linalg.norm(listed["impulse"][:, 1:], axis=1)
        self.friction = np.where(listed["slides"] == 1, listed["kinetic_friction"], listed["static_friction"])
        velocity = listed["velocity"]
        limit = self.friction * listed["impulse"][:, 0]
        self.slides = self.closed & (rubbing >= limit * (1.0 - 1e-7))
        self.bends_along = self.closed & (self.radius == 0.0) & ~self.at_stop & (
            np.linalg.norm(velocity[:, 1:], axis=1) <= _STICKING
        )  # fmt: skip
        self.pressed = listed["gap"] <= -self.recovery  # recovery of depth is limited there
        self.eps = _COMPLIANCE * float(np.mean(1.0 / listed["scale"])) if len(listed) else 0.0
        self.jumping = self.jumped[self.tree.reference[self.body]] == 1
        self.lam = listed["impulse"][self.closed].copy()

    # Evaluation ----------------------------------------------------------------------------------------------------

    def evaluate(self, q: Floats, v: Floats, torque: Floats, lam: Floats) -> Outcome:
        """Go through (1)-(6) from q (B, nq), v (B, nv) under torque (B, nv) and impulses lam (B, c, 3)."""
        m, h = self.m, self.h
        moving = self.far > _STILL
        q_m = integrate(m, q, 0.5 * h * v, 1.0) if moving else q
        f = _Flight(q, v, v.copy(), v, self._placed(q), self._placed(q_m))
        if moving:
            for r in self.roots:
                for o in self._triples(r):
                    f.nu[:, o] = _turn(f.start[0][:, r["body"], :3, :3], f.middle[0][:, r["body"], :3, :3], v[:, o])
        H, applied, change = self._free_change(f, q_m, torque)
        acts = self._points(f.middle[0]) - self.radius[:, None] * self.E[:, 0]
        K = self._jacobian(f.middle, acts)
        pull = np.einsum("bckd,bck->bd", K[:, self.closed], lam)
        f.next = f.nu + change + np.linalg.solve(H, pull[..., None])[..., 0]
        displacement = self._displacement(f)
        target = self._targets(f, applied, lam, acts)
        q_next = self._ended(f, displacement, target)
        if self.far > _TURNING:
            alone = len(self.roots) == len(self.tree.reference)
            for _ in range(_TURNS if alone else _TURNS_OF_TREES):
                v_end, settled = self._end_velocity(f, q_next, target), True
                for r in self.roots:
                    if r["exact"]:
                        w, part = turning_of(r), 0.0 if self.jumped[r["body"]] else 0.5
                        turned = h * (part * v[:, w] + (1.0 - part) * v_end[:, w])
                        settled = settled and bool(np.abs(turned - displacement[:, w]).max() <= _SETTLED)
                        displacement[:, w] = turned
                q_next = self._ended(f, displacement, target)
                if settled:
                    break  # what further turns change is rounding
        w = self._velocities(f, K, q_next, lam)
        if self.out.any():
            q_next = self._moved_out(f, H, K, displacement, q_next)
        v_end = self._end_velocity(f, q_next, target)
        p, gain, T = self._energies(f, q_next, v_end, applied, lam, target)
        return Outcome(q_next, v_end, w, p, gain, T)

    def _placed(self, q: Floats) -> tuple[Floats, Floats]:
        """Poses (B, n, 4, 4) and joint axes (B, 6, nv)."""
        poses, columns = self.poses_and_axes(q)
        return poses, columns

    def _free_change(self, f: _Flight, q_m: Floats, torque: Floats) -> tuple[Floats, Floats, Floats]:
        """H (B, nv, nv), applied torques and ν' - ν without contacts (B, nv)."""
        m, h, g, nu = self.m, self.h, self.gains, f.nu
        D, k = m.damping, m.tables.stiffness
        now = np.where(self.single, f.q[:, self.coordinate], 0.0)
        then = np.where(self.single, q_m[:, self.coordinate], 0.0)
        u = torque + g["kd"] * (g["rate"] - nu) + np.where(self.single, g["kp"] * (g["at"] - now), 0.0)
        H = mass_matrix(m, q_m) + np.diag(h * (g["kd"] + D) + h * h * (g["kp"] + k))
        middle, change = nu, np.zeros_like(nu)
        for again in range(2):
            known = D * (middle - nu) + np.where(self.single, k * (then - now), 0.0)
            load = h * (u - self.bias_torque(q_m, middle) + known - h * (g["kp"] + k) * nu)
            change = np.linalg.solve(H, load[..., None])[..., 0]
            for r in self.roots:
                if r["free"]:
                    o = slice(r["velocity"], r["velocity"] + 3)
                    turn = slice(r["velocity"] + 3, r["velocity"] + 6)
                    change[:, o] += h * cross(middle[:, turn], middle[:, o])
            if again or self.far <= _FAST:
                break
            middle = nu + 0.5 * change
        return H, u, change

    def _points(self, poses: Floats) -> Floats:
        T = poses[:, self.body]
        return np.einsum("bcij,cj->bci", T[..., :3, :3], self.at) + T[..., :3, 3]

    def _jacobian(self, placed: tuple[Floats, Floats], acts: Floats) -> Floats:
        """K (B, c, 3, nv) along the axes of the contacts, which act there (B, c, 3)."""
        poses, columns = placed
        origins = poses[:, self.tree.dof_body][..., :3, 3]  # (B, nv, 3)
        arm = acts[:, :, None] - origins[:, None]
        linear, angular = np.swapaxes(columns[:, :3], 1, 2), np.swapaxes(columns[:, 3:], 1, 2)
        moved = linear[:, None] + cross(angular[:, None], arm)
        moved *= self.moves[self.body][None, :, :, None]
        K = np.einsum("cki,bcdi->bckd", self.E, moved)
        K[:, self.at_stop, 0] = self.stop_rows  # (8)
        return K

    def _triples(self, r: Any) -> list[slice]:
        """Velocities of a root that turn with its axes: angular, and linear ones of free joints."""
        found = [turning_of(r)]
        if r["free"]:
            found.append(slice(int(r["velocity"]), int(r["velocity"]) + 3))
        return found

    def _displacement(self, f: _Flight) -> Floats:
        """Flight.py (2), (3), in the axes of the beginning."""
        h = self.h
        x = np.where(self.jumps, h * f.next, 0.5 * h * (f.nu + f.next))
        for r in self.roots:
            R, middle = f.start[0][:, r["body"], :3, :3], f.middle[0][:, r["body"], :3, :3]
            w = turning_of(r)
            turn = x[:, w] = _turn(middle, R, x[:, w])
            if r["free"]:
                o = slice(int(r["velocity"]), int(r["velocity"]) + 3)
                way = _turn(middle, R, x[:, o])
                across = cross(turn, way)
                x[:, o] = way - 0.5 * across + cross(turn, across) / 12.0
        return x

    def _targets(self, f: _Flight, applied: Floats, lam: Floats, acts: Floats) -> list[Any]:
        """Per root: centre and momentum at the beginning, momentum at the end, flight.py (5)."""
        h, g, found = self.h, self.tree.gravity, []
        twists = self.momenta.twists(f.start, f.v)
        force = np.einsum("cki,bck->bci", self.E[self.closed], lam)
        for r in self.roots:
            if not r["exact"]:
                found.append(None)
                continue
            if not r["free"]:
                raise InputError(
                    "Simulator.derivatives: mechanisms on a spherical joint of the world are not differentiated"
                )
            center, P, L, _ = self.momenta.momentum(r, f.q, f.v, f.start[0], twists)
            T = f.middle[0][:, r["body"]]
            about = self.momenta.center(r, f.middle[0])
            o = slice(int(r["velocity"]), int(r["velocity"]) + 3)
            push = h * np.einsum("bij,bj->bi", T[:, :3, :3], applied[:, o])
            P1 = P + h * r["mass"] * g + push
            L1 = L + h * np.einsum("bij,bj->bi", T[:, :3, :3], applied[:, turning_of(r)])
            L1 = L1 + cross(T[:, :3, 3] - about, push)
            mine = self.tree.reference[self.body[self.closed]] == r["body"]
            P1 = P1 + force[:, mine].sum(axis=1)
            L1 = L1 + cross(acts[:, self.closed][:, mine] - about[:, None], force[:, mine]).sum(axis=1)
            found.append((center, P, P1, L1))
        return found

    def _ended(self, f: _Flight, displacement: Floats, target: list[Any]) -> Floats:
        """Configuration at the end, centres of mass as flight.py (6)."""
        q = integrate(self.m, f.q, displacement, 1.0)
        poses = self._placed(q)[0]
        for r, goal in zip(self.roots, target, strict=True):
            if goal is None:
                continue
            center, P, P1, _ = goal
            rate = P1 if self.jumped[r["body"]] else 0.5 * (P + P1)
            shift = center + self.h / r["mass"] * rate - self.momenta.center(r, poses)
            o = int(r["coordinate"])
            q[:, o : o + 3] += shift @ r["axes"]
        return q

    def _end_velocity(self, f: _Flight, q: Floats, target: list[Any]) -> Floats:
        """Flight.py (1) with the momentum of (5)."""
        v = f.next.copy()
        if self.still:
            return v
        placed = self._placed(q)
        for r in self.roots:
            R, middle = placed[0][:, r["body"], :3, :3], f.middle[0][:, r["body"], :3, :3]
            for o in self._triples(r):
                v[:, o] = _turn(middle, R, f.next[:, o])
        twists = self.momenta.twists(placed, v)
        for r, goal in zip(self.roots, target, strict=True):
            if goal is None:
                continue
            _, _, P1, L1 = goal
            center, P, L, inertia = self.momenta.momentum(r, q, v, placed[0], twists)
            R = placed[0][:, r["body"], :3, :3]
            turn = np.linalg.solve(inertia, (L1 - L)[..., None])[..., 0]
            way = (P1 - P) / r["mass"] + cross(turn, placed[0][:, r["body"], :3, 3] - center)
            o = int(r["velocity"])
            v[:, o : o + 3] += np.einsum("bji,bj->bi", R, way)
            v[:, o + 3 : o + 6] += np.einsum("bji,bj->bi", R, turn)
        return v

    def _velocities(self, f: _Flight, K: Floats, q_next: Floats, lam: Floats) -> Floats:
        """W of closed contacts (3), (4)."""
        closed, h = self.closed, self.h
        if not closed.any():
            return np.zeros((len(f.q), 0, 3))
        after = np.einsum("bckd,bd->bck", K[:, closed], f.next)
        before = np.einsum("bckd,bd->bck", K[:, closed], f.nu)
        x0 = self._points(f.start[0])[:, closed]
        way = np.einsum("cki,bci->bck", self.E[closed], self._points(self._placed(q_next)[0])[:, closed] - x0)
        straight = np.where(self.jumping[closed, None], after, 0.5 * (before + after))
        bend = (way / h - straight) * ~self.at_stop[closed, None]
        bend[..., 1:] *= self.bends_along[closed, None]
        gap = np.einsum("ci,bci->bc", self.E[closed, 0], x0) - (self.offset + self.radius)[closed]
        gap[:, self.at_stop[closed]] = self._stop_gaps(f.q)[:, closed[self.at_stop]]
        w = after + self.eps * lam + bend - self.listed["surface"][closed]
        w[..., 0] += np.where(self.pressed[closed], -self.recovery, gap) / h
        return w

    def gaps(self, q: Floats) -> Floats:
        """Gaps (B, c) of all listed contacts."""
        found = np.einsum("ci,bci->bc", self.E[:, 0], self._points(self._placed(q)[0])) - self.offset - self.radius
        found[:, self.at_stop] = self._stop_gaps(q)
        return found

    def _stop_gaps(self, q: Floats) -> Floats:
        """Gaps (B, stops) of the listed stops (8)."""
        s = self.stops
        return s["sign"] * s["lever"] * (q[:, s["coordinate"]] - s["limit"])

    def _moved_out(self, f: _Flight, H: Floats, K: Floats, displacement: Floats, q_next: Floats) -> Floats:
        """(6)."""
        N = K[:, self.out, 0]  # (B, a, nv)
        answer = np.linalg.solve(H, np.swapaxes(N, 1, 2))
        W = N @ answer + self.eps * np.eye(int(self.out.sum()))
        y = np.linalg.solve(W, -_RECOVERY * self.gaps(q_next)[:, self.out, None])
        return integrate(self.m, f.q, displacement + (answer @ y)[..., 0], 1.0)

    def _energies(
        self, f: _Flight, q: Floats, v: Floats, applied: Floats, lam: Floats, target: list[Any]
    ) -> tuple[Floats, Floats, Floats]:
        """What (7) needs: p (B, nv), the energy gained and T (B,), of the motion about p."""
        m, h = self.m, self.h
        # The torque of the step's end acts, as a servo follows what it moves.
        acting = applied - self.gains["kd"] * (f.next - f.nu)
        acting = acting - np.where(self.single, h * self.gains["kp"] * f.next, 0.0)
        way = np.where(self.jumps, f.next, 0.5 * (f.nu + f.next))
        work = h * (acting * way).sum(axis=1)
        work = work + np.einsum("bck,ck->b", lam[..., 1:], self.listed["surface"][self.closed][:, 1:])
        T = kinetic_energy(m, q, v)
        gain = T + potential_energy(m, q) - kinetic_energy(m, f.q, f.v) - potential_energy(m, f.q) - work
        if self.keeps:
            lost = -h * (m.damping * v * 0.5 * (f.nu + v)).sum(axis=1)
            gain = gain - np.minimum(0.0, lost)
        else:
            gain = gain - self.given
        p, placed = np.zeros_like(v), self._placed(q)
        twists, rest = self.momenta.twists(placed, v), T
        for r, goal in zip(self.roots, target, strict=True):
            if not r["free"]:
                continue
            o, R = int(r["velocity"]), placed[0][:, r["body"], :3, :3]
            center, P, _, inertia = self.momenta.momentum(r, q, v, placed[0], twists)
            velocity = P / r["mass"]
            rest = rest - 0.5 * (P * P).sum(axis=1) / r["mass"]
            if self.keeps:
                L = goal[3]
                turn = np.linalg.solve(inertia, L[..., None])[..., 0]
                rest = rest - 0.5 * (turn * L).sum(axis=1)
                velocity = velocity + cross(turn, placed[0][:, r["body"], :3, 3] - center)
                p[:, o + 3 : o + 6] = np.einsum("bji,bj->bi", R, turn)
            p[:, o : o + 3] = np.einsum("bji,bj->bi", R, velocity)
        return p, gain, rest


def _joint_at(m: Mechanism, velocity: int) -> str:
    """Name of the joint of a velocity."""
    return next(name for name, part in zip(m.joint_names, m.v_slices, strict=True) if velocity < part.stop)


def _turn(A: Floats, B: Floats, v: Floats) -> Floats:
    """Vectors v (B, 3) in the axes A, in the axes B."""
    return (np.swapaxes(B, -1, -2) @ (A @ v[..., None]))[..., 0]
