"""What a scenario file may say: one record per table, units in the docstrings.

Numbers are SI. Names are those of the model. Every record is frozen; `msgspec.structs.replace` makes a changed copy.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from setsu.scenario.toml_lines import Origin

__all__ = [
    "ActuatorTorque",
    "BodyChange",
    "CloseLoopEvent",
    "ConstantTorque",
    "Contact",
    "CylinderShape",
    "ExpressionTorque",
    "ImplicitShape",
    "JointChange",
    "JointFeedbackTorque",
    "MaterialChange",
    "Model",
    "NoTorque",
    "OpenLoopEvent",
    "Output",
    "Payload",
    "PlaneShape",
    "Scenario",
    "Simulation",
    "SphereShape",
    "SpringChange",
    "Start",
    "World",
]

Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Vector = tuple[float, float, float]
PerJoint = dict[str, float]
# The largest chains that anyone simulates; a number with three zeros more would take the memory and not come back.
SampleArgument = Annotated[int, Meta(ge=-2000, le=2000)]


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class BodyChange(_Table, frozen=True, kw_only=True):
    """[model.bodies.NAME]: mass (kg; the inertia grows with it, as for a denser body), center_of_mass (m)."""

    mass: NotNegative | None = None
    center_of_mass: Vector | None = None


class JointChange(_Table, frozen=True, kw_only=True):
    """[model.joints.NAME]: N m s/rad, N m, kg m², N m/rad, rad for a turning joint; N s/m, N, kg, N/m, m otherwise."""

    damping: NotNegative | None = None
    coulomb: NotNegative | None = None
    armature: NotNegative | None = None
    stiffness: NotNegative | None = None
    spring_rest: float | None = None


class SpringChange(_Table, frozen=True, kw_only=True):
    """[model.springs.NAME]: N/m, m, N s/m."""

    stiffness: NotNegative | None = None
    rest_length: NotNegative | None = None
    damping: NotNegative | None = None


class MaterialChange(_Table, frozen=True, kw_only=True):
    """[model.material]: of all contact points of the model; coefficients of friction, and of restitution (0 to 1)."""

    static_friction: NotNegative | None = None
    kinetic_friction: NotNegative | None = None
    restitution: Annotated[float, Meta(ge=0, le=1)] | None = None


class Payload(_Table, frozen=True, kw_only=True):
    """[[model.payloads]]: a load (kg) fastened to a body, its centre of mass (m) in the body's frame."""

    body: str
    mass: NotNegative
    center_of_mass: Vector = (0.0, 0.0, 0.0)


class Model(_Table, frozen=True, kw_only=True):
    """[model]: `file` beside the scenario (.urdf, .xml, .toml), or `sample`, a function of setsu.sample_mechanisms.

    sample_arguments: whole numbers up to 2000 for that function. gravity: m/s²; the file's own when absent.
    floating_base, package_folders, repair: as in setsu.load. bodies, joints, springs, payloads, material: changes to
    what the file says.
    """

    file: str | None = None
    sample: str | None = None
    sample_arguments: tuple[SampleArgument, ...] = ()
    floating_base: bool = False
    gravity: Vector | None = None
    package_folders: tuple[str, ...] = ()
    repair: bool = False
    bodies: dict[str, BodyChange] = {}
    joints: dict[str, JointChange] = {}
    springs: dict[str, SpringChange] = {}
    payloads: tuple[Payload, ...] = ()
    material: MaterialChange | None = None


class Start(_Table, frozen=True, kw_only=True):
    """[start]: coordinates `q` and velocities `v` by joint name (a number, or a list for joints with several).

    Joints not named are neutral and at rest. keyframe: begin with the state of this name in the model file instead, and
    let its controls drive the actuators ([torque] kind = "actuators"). seed: begin with the random one of that
    number instead of the neutral one, with normal velocities of standard deviation `velocity_spread` (rad/s or m/s).
    close_loops: take the nearest state that satisfies the loops, keeping the joints in `fixed`.
    """

    q: dict[str, float | tuple[float, ...]] = {}
    v: dict[str, float | tuple[float, ...]] = {}
    keyframe: str | None = None
    seed: Annotated[int, Meta(ge=0)] | None = None
    velocity_spread: NotNegative = 0.0
    close_loops: bool = False
    fixed: tuple[str, ...] = ()


class NoTorque(_Table, frozen=True, kw_only=True, tag_field="kind", tag="none"):
    """[torque] kind = "none": the joints are free."""


class ConstantTorque(_Table, frozen=True, kw_only=True, tag_field="kind", tag="constant"):
    """[torque] kind = "constant": `values` by joint name, N m or N."""

    values: dict[str, float] = {}


class ExpressionTorque(_Table, frozen=True, kw_only=True, tag_field="kind", tag="expression"):
    """[torque] kind = "expression": `values` by joint name, texts in the time t (s) and the named `parameters`."""

    values: dict[str, float | str] = {}
    parameters: dict[str, float] = {}


class ActuatorTorque(_Table, frozen=True, kw_only=True, tag_field="kind", tag="actuators"):
    """[torque] kind = "actuators": the model's own actuators; `control` by actuator name, texts in t and `parameters`.

    Actuators not named have the control of the keyframe the run starts with, else 0.
    """

    control: dict[str, float | str] = {}
    parameters: dict[str, float] = {}


class JointFeedbackTorque(_Table, frozen=True, kw_only=True, tag_field="kind", tag="joint_feedback"):
    """[torque] kind = "joint_feedback": tau = stiffness (target - q) - damping v, + gravity torque where asked for.

    stiffness, damping: one number for all joints with one coordinate, or numbers by joint name. target: by joint name,
    rad or m, numbers or texts in t and `parameters`; joints not named are held where they start.
    limit: largest |tau|, N m or N. gravity_compensation: add setsu.gravity_torque, of all joints but free ones.
    """

    stiffness: NotNegative | PerJoint = 0.0
    damping: NotNegative | PerJoint = 0.0
    target: dict[str, float | str] = {}
    parameters: dict[str, float] = {}
    gravity_compensation: bool = False
    limit: Positive | None = None


class PlaneShape(_Table, frozen=True, kw_only=True, tag_field="kind", tag="plane"):
    """n·r = offset (m)."""

    normal: Vector = (0.0, 0.0, 1.0)
    offset: float = 0.0


class SphereShape(_Table, frozen=True, kw_only=True, tag_field="kind", tag="sphere"):
    """A sphere, m."""

    center: Vector = (0.0, 0.0, 0.0)
    radius: Positive


class CylinderShape(_Table, frozen=True, kw_only=True, tag_field="kind", tag="cylinder"):
    """A cylinder without ends, m."""

    point: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (0.0, 0.0, 1.0)
    radius: Positive


class ImplicitShape(_Table, frozen=True, kw_only=True, tag_field="kind", tag="implicit"):
    """All points where an expression in x, y, z (m) is zero."""

    expression: str


class Contact(_Table, frozen=True, kw_only=True):
    """[[contacts]]: a point (m, body frame) of a body on a surface, with its coefficient of friction."""

    body: str
    point: Vector = (0.0, 0.0, 0.0)
    surface: PlaneShape | SphereShape | CylinderShape | ImplicitShape
    friction: NotNegative = 0.0
    bilateral: bool = False
    name: str = ""
    restitution: NotNegative = 0.0


class World(_Table, frozen=True, kw_only=True):
    """[environment]: what the model's contact points may touch; steps are then semi-implicit.

    floor: a plane without end at z = `height` (m) at the origin, tilted about +y by `slope` (rad). polygons: lists of
    corners (m), counter-clockwise as seen from the side that is touched. contact_solver, body_contacts: as in
    setsu.simulate. A model without contact points gets those of its collision shapes.
    """

    floor: bool = False
    height: float = 0.0
    slope: float = 0.0
    polygons: tuple[tuple[Vector, ...], ...] = ()
    contact_solver: Literal["default", "sugihara2002"] = "default"
    body_contacts: bool | Literal["compiled", "coal"] = False


class CloseLoopEvent(_Table, frozen=True, kw_only=True, tag_field="kind", tag="close_loop"):
    """[[events]] kind = "close_loop": close a loop at `time` (s); here: join the sides where they are."""

    time: NotNegative
    loop: str
    here: bool = False


class OpenLoopEvent(_Table, frozen=True, kw_only=True, tag_field="kind", tag="open_loop"):
    """[[events]] kind = "open_loop": open a loop at `time` (s)."""

    time: NotNegative
    loop: str


Integrator = Literal["default", "rk4", "rkn4", "semi_implicit", "rk8", "adaptive", "radau", "time_stepping"]


class Simulation(_Table, frozen=True, kw_only=True):
    """[simulation]: duration and step (s), integrator, which steps are recorded; as in setsu.simulate."""

    duration: Positive
    step: Positive = 1e-3
    integrator: Integrator = "default"
    record_every: Annotated[int, Meta(ge=1)] = 1
    tolerance: Positive = 1e-10
    joint_stops: bool = False


class Output(_Table, frozen=True, kw_only=True):
    """[output]: `recording`, a file beside the scenario (.nc or .npz), and `plots`, quantities drawn beside it."""

    recording: str | None = None
    plots: tuple[str, ...] = ()


class Scenario(_Table, frozen=True, kw_only=True):
    """One simulation. `origin` is where it was read from; files named in it stand beside that."""

    title: str = ""
    model: Model
    start: Start = Start()
    torque: NoTorque | ConstantTorque | ExpressionTorque | ActuatorTorque | JointFeedbackTorque = NoTorque()
    contacts: tuple[Contact, ...] = ()
    environment: World | None = None
    events: tuple[CloseLoopEvent | OpenLoopEvent, ...] = ()
    simulation: Simulation
    output: Output = Output()
    origin: Origin = Origin()
