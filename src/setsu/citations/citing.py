"""Which sources stand behind which call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from setsu.citations.bibliography import BIBLIOGRAPHY, Source
from setsu.errors import InputError, nearest_names

__all__ = ["CHOICES", "CITED", "Citation", "citation"]

# Sources of each public function, whatever its options; those of setsu.control.humanoid by their plain names.
CITED: dict[str, tuple[str, ...]] = {
    "body_poses": ("featherstone2008",),
    "body_velocities": ("featherstone2008",),
    "body_accelerations": ("featherstone2008",),
    "point_jacobian": ("featherstone2008",),
    "point_jacobian_rate": ("featherstone2008",),
    "frame_jacobian": ("featherstone2008",),
    "inverse_dynamics": ("luh1980",),
    "bias_torque": ("luh1980",),
    "gravity_torque": ("luh1980",),
    "joint_wrenches": ("luh1980",),
    "forward_dynamics": (),
    "mass_matrix": (),
    "coriolis_matrix": ("echeandia2021",),
    "regressor": ("atkeson1986",),
    "inertial_parameters": ("atkeson1986",),
    "inverse_dynamics_derivatives": ("singh2022",),
    "forward_dynamics_derivatives": ("singh2022",),
    "center_of_mass": ("orin2013",),
    "centroidal_matrix": ("orin2013",),
    "momentum": ("orin2013",),
    "kinetic_energy": (),
    "potential_energy": (),
    "integrate": ("munthekaas1998",),
    "difference": ("munthekaas1998",),
    "constrained_dynamics": ("nishiguchi2014",),
    "constrained_inverse_dynamics": ("nishiguchi2014",),
    "simulate": ("munthekaas1998",),
    "NodalStepper": ("isobe2003",),
    "nodal_forces": ("isobe2003",),
    "nodal_inverse_dynamics": ("isobe2003",),
    "member_length_matrix": ("isobe2003",),
    "minimum_parameters": ("kawasaki1995",),
    "identify": ("gautier2001", "wensing2018", "lee2020"),
    "excitation_trajectory": ("swevers1997",),
    "generate": ("kawasaki1995",),
    "compile": ("kawasaki1995",),
    "sweep": ("munthekaas1998",),
    "plan_footsteps": ("kajita2003",),
    "plan_walk": ("kajita2003", "chu2004", "yamashita2001", "sugihara2011", "vukobratovic2004"),
    "plan_jump": ("yamashita2001", "sugihara2011", "vukobratovic2004"),
    "solve_postures": ("yamashita2001", "sugihara2011"),
    "standing_posture": ("yamashita2001", "sugihara2011"),
    "zero_moment_point": ("vukobratovic2004",),
    "PreviewController": ("kajita2003", "chu2004"),
    "Landing": ("raibert1986",),
}

# Function and option -> sources of each value; the first value is the default.
CHOICES: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    ("inverse_dynamics", "formulation"): {"link": ("yamamoto2022",), "world": ("yamamoto2022",)},
    ("forward_dynamics", "method"): {
        "articulated_body": ("featherstone1983", "featherstone2008"),
        "composite_body": ("walker1982", "featherstone2008"),
        "unit_vector": ("walker1982", "yamamoto2022"),
    },
    ("mass_matrix", "method"): {
        "composite_body": ("walker1982", "featherstone2008"),
        "unit_vector": ("walker1982", "yamamoto2022"),
    },
    ("simulate", "integrator"): {
        "rk4": ("kutta1901",),
        "rkn4": ("kutta1901", "nystrom1925"),
        "semi_implicit": ("hairer2006",),
        "rk8": ("cooper1972",),
        "adaptive": ("hairer1993",),
        "radau": ("hairer1996",),
    },
    ("simulate", "contact_solver"): {"default": ("alart1991",), "sugihara2002": ("sugihara2002",)},
    ("sweep", "sampling"): {"grid": (), "random": (), "latin_hypercube": ("mckay1979",)},
    ("sweep", "integrator"): {"rk4": ("kutta1901",), "semi_implicit": ("hairer2006",)},
}
# Options that bring in their method only when they are given.
_ONLY_WHEN_GIVEN = {"contact_solver"}


@dataclass(frozen=True)
class Citation:
    """Sources of some calls: `text`, a list of references, and `bibtex`, entries for a BibTeX file."""

    sources: tuple[Source, ...]

    @property
    def text(self) -> str:
        """One line per source, the key in brackets."""
        return "\n".join(f"[{source.key}] {source.text}" for source in self.sources)

    @property
    def bibtex(self) -> str:
        """The content of a BibTeX file."""
        return "\n\n".join(source.bibtex for source in self.sources)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def citation(*functions: Callable[..., Any] | str, **options: str) -> Citation:
    """Return the sources of the methods behind functions of the library, and the library itself.

    Args:
        functions: public functions, those of setsu.control.humanoid too, or their names; without any, all sources.
        options: the options that choose a method, as in the call: method, formulation, integrator, contact_solver,
            sampling; the defaults of the functions otherwise.

    >>> import setsu
    >>> print(*(source.key for source in setsu.citation(setsu.forward_dynamics).sources))
    featherstone1983 featherstone2008 setsu
    >>> print(*(source.key for source in setsu.citation(setsu.control.humanoid.PreviewController).sources))
    kajita2003 chu2004 setsu
    >>> print(setsu.citation("simulate", integrator="rk8").bibtex.splitlines()[0])
    @article{cooper1972,
    """
    if not functions:
        if options:
            raise InputError(f"citation: {', '.join(options)}: expected a function that takes it")
        return Citation(tuple(BIBLIOGRAPHY.values()))
    names = [_name(function) for function in functions]
    keys = {"setsu"}
    for name in names:
        keys.update(CITED[name])
        for (owner, option), values in CHOICES.items():
            if owner == name and (option in options or option not in _ONLY_WHEN_GIVEN):
                value = options.get(option, next(iter(values)))
                if value not in values:
                    raise InputError(f"citation: {name}: {option} {value!r}{nearest_names(str(value), values)}")
                keys.update(values[value])
    known = {option for owner, option in CHOICES if owner in names}
    for option in options:
        if option not in known:
            raise InputError(f"citation: {', '.join(names)}: no option {option!r}{nearest_names(option, known)}")
    return Citation(tuple(source for key, source in BIBLIOGRAPHY.items() if key in keys))


def _name(function: Callable[..., Any] | str) -> str:
    name = function if isinstance(function, str) else getattr(function, "__name__", repr(function))
    if name not in CITED:
        raise InputError(f"citation: no sources for {name!r}{nearest_names(str(name), CITED)}")
    return name
