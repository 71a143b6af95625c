"""modelDescription.xml of a co-simulation unit, FMI 2.0 and 3.0: variables, units, what the unit can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from setsu.errors import InputError
from setsu.mechanism import Free, Joint, Mechanism, Spherical

__all__ = ["FmuVariable", "build_description", "model_description", "variables_of"]

# SI exponents of the units in use: kg, m, s, rad.
_UNITS = {
    "s": (0, 0, 1, 0), "rad": (0, 0, 0, 1), "m": (0, 1, 0, 0), "rad/s": (0, 0, -1, 1), "m/s": (0, 1, -1, 0),
    "N.m": (1, 2, -2, 0), "N": (1, 1, -2, 0), "1": (0, 0, 0, 0),
}  # fmt: skip
_TOOL = "Setsu"


@dataclass(frozen=True)
class FmuVariable:
    """A variable of the unit; causality: "independent", "input", "output" or "parameter"."""

    name: str
    reference: int
    causality: str
    unit: str
    description: str
    start: float | None


def variables_of(m: Mechanism, inner_step: float, rates: Sequence[int], start: Sequence[float]) -> list[FmuVariable]:
    """Return the variables in the order of their reference numbers: time, tau, q, v, q_start, v_start, inner_step.

    rates: those with a drive. start: (nq,) coordinates at the start.
    """
    coordinates = [(name, unit) for body in m.moving for name, unit in _coordinates(body.joint)]
    velocities = [(name, unit) for body in m.moving for name, unit in _velocities(body.joint)]
    rows: list[tuple[str, str, str, str, float | None]] = [("time", "independent", "s", "time", None)]
    for name, unit in (velocities[rate] for rate in rates):
        effort = "N" if unit == "m/s" else "N.m"
        rows.append((f"tau_{name}", "input", effort, f"drive of {name}, constant during a step", 0.0))
    rows += [(f"q_{name}", "output", unit, f"coordinate of {name}", None) for name, unit in coordinates]
    rows += [(f"v_{name}", "output", unit, f"velocity of {name}", None) for name, unit in velocities]
    rows += [
        (f"q_start_{name}", "parameter", unit, f"coordinate of {name} at the start", value)
        for (name, unit), value in zip(coordinates, start, strict=True)
    ]
    rows += [
        (f"v_start_{name}", "parameter", unit, f"velocity of {name} at the start", 0.0) for name, unit in velocities
    ]
    rows.append(("inner_step", "parameter", "s", "largest step of the integrator inside", inner_step))
    names = _unique([row[0] for row in rows])
    return [
        FmuVariable(name, number, causality, unit, text, start)
        for number, (name, (_, causality, unit, text, start)) in enumerate(zip(names, rows, strict=True))
    ]


def _unique(names: list[str]) -> list[str]:
    """Return legal names, each once: joints "start_x" and "x" would both have a variable q_start_x."""
    taken: set[str] = set()
    result = []
    for name in (legal_text(name) for name in names):
        new, number = name, 2
        while new in taken or (number > 2 and new in names):
            new, number = f"{name}_{number}", number + 1
        taken.add(new)
        result.append(new)
    return result


def legal_text(text: str) -> str:
    """Return text without characters that XML 1.0 has no place for, or that would break a line."""
    return "".join(c if c.isprintable() and ord(c) not in (0xFFFE, 0xFFFF) else "_" for c in text)


def validated(text: str, what: str) -> str:
    """Return a description that is well-formed XML with names that are legal and unique; else the unit is not made."""
    try:
        root = ElementTree.fromstring(text.encode())
    except ElementTree.ParseError as error:
        raise InputError(f"generate: FMU: {what} is no well-formed XML ({error})") from None
    listed = root.find("ModelVariables")
    names = [] if listed is None else [variable.get("name", "") for variable in listed]
    again = sorted({name for name in names if names.count(name) > 1 or not name})
    if again:
        raise InputError(f"generate: FMU: {what} names variables twice or not at all: {', '.join(again)}")
    return text


def _coordinates(joint: Joint) -> list[tuple[str, str]]:
    name = joint.name
    quaternion = [(f"{name}_q{axis}", "1") for axis in "xyzw"]
    match joint:
        case Spherical():
            return quaternion
        case Free():
            return [*((f"{name}_{axis}", "m") for axis in "xyz"), *quaternion]
        case _:
            return [(label, unit.removesuffix("/s")) for label, unit in _velocities(joint)]


def _velocities(joint: Joint) -> list[tuple[str, str]]:
    units = ["m/s" if travels else "rad/s" for travels in joint.travels]
    if joint.nq != joint.nv:
        parts = [*(f"_v{axis}" for axis in "xyz"), *(f"_w{axis}" for axis in "xyz")][-joint.nv :]
    elif joint.nv == 1:
        parts = [""]
    elif any(joint.travels):
        along = {"z": "_travel", "x": "_x", "y": "_y"}
        parts = [along[way] if kind == "travel" else "_angle" for kind, way in joint.motions]
    else:
        parts = [f"_{k + 1}" for k in range(joint.nv)]
    return [(joint.name + part, unit) for part, unit in zip(parts, units, strict=True)]


def model_description(
    version: str, name: str, identifier: str, guid: str, variables: list[FmuVariable], sources: list[str]
) -> str:
    """Return the text of modelDescription.xml for FMI "2.0" or "3.0"."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    common = (
        f'modelName={quoteattr(legal_text(name))} generationTool={quoteattr(_TOOL)} variableNamingConvention="flat"'
    )
    ability = (
        f'modelIdentifier="{identifier}" canHandleVariableCommunicationStepSize="true" '
        'canBeInstantiatedOnlyOncePerProcess="false"'
    )
    if version == "2.0":
        lines += [
            f'<fmiModelDescription fmiVersion="2.0" guid="{guid}" {common} numberOfEventIndicators="0">',
            f'  <CoSimulation {ability} canGetAndSetFMUstate="true">',
            "    <SourceFiles>",
            *(f'      <File name="{source}"/>' for source in sources),
            "    </SourceFiles>",
            "  </CoSimulation>",
        ]
    else:
        lines += [
            f'<fmiModelDescription fmiVersion="3.0" instantiationToken="{guid}" {common}>',
            f'  <CoSimulation {ability} canGetAndSetFMUState="true"/>',
        ]
    lines += ["  <UnitDefinitions>", *_unit_lines(variables), "  </UnitDefinitions>"]
    lines += ['  <DefaultExperiment startTime="0.0" stopTime="1.0" stepSize="0.01"/>', "  <ModelVariables>"]
    for variable in variables:
        lines += _variable2(variable) if version == "2.0" else _variable3(variable)
    lines += ["  </ModelVariables>", "  <ModelStructure>", *_structure(version, variables), "  </ModelStructure>"]
    return validated("\n".join([*lines, "</fmiModelDescription>", ""]), "modelDescription.xml")


def build_description(identifier: str, sources: list[str]) -> str:
    """Return the text of sources/buildDescription.xml, by which FMI 3.0 tells how to compile a unit."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<fmiBuildDescription fmiVersion="3.0">',
        f'  <BuildConfiguration modelIdentifier="{identifier}">',
        '    <SourceFileSet language="C99">',
        *(f'      <SourceFile name="{source}"/>' for source in sources),
        "    </SourceFileSet>",
        "  </BuildConfiguration>",
        "</fmiBuildDescription>",
        "",
    ]
    return "\n".join(lines)


def _unit_lines(variables: list[FmuVariable]) -> list[str]:
    lines = []
    for unit in dict.fromkeys(variable.unit for variable in variables):
        powers = zip(("kg", "m", "s", "rad"), _UNITS[unit], strict=True)
        base = " ".join(f'{letter}="{power}"' for letter, power in powers if power)
        lines.append(f'    <Unit name="{unit}"><BaseUnit{" " if base else ""}{base}/></Unit>')
    return lines


def _variability(variable: FmuVariable) -> str:
    return "fixed" if variable.causality == "parameter" else "continuous"


def _variable2(variable: FmuVariable) -> list[str]:
    start = "" if variable.start is None else f' start="{variable.start!r}"'
    initial = {"output": ' initial="calculated"', "parameter": ' initial="exact"'}.get(variable.causality, "")
    return [
        f'    <ScalarVariable name={quoteattr(variable.name)} valueReference="{variable.reference}" '
        f'causality="{variable.causality}" variability="{_variability(variable)}"{initial} '
        f"description={quoteattr(legal_text(variable.description))}>",
        f'      <Real unit="{variable.unit}"{start}/>',
        "    </ScalarVariable>",
    ]


def _variable3(variable: FmuVariable) -> list[str]:
    start = "" if variable.start is None else f' start="{variable.start!r}"'
    initial = {"output": ' initial="calculated"', "parameter": ' initial="exact"'}.get(variable.causality, "")
    return [
        f'    <Float64 name={quoteattr(variable.name)} valueReference="{variable.reference}" '
        f'causality="{variable.causality}" variability="{_variability(variable)}"{initial} '
        f'description={quoteattr(legal_text(variable.description))} unit="{variable.unit}"{start}/>'
    ]


def _structure(version: str, variables: list[FmuVariable]) -> list[str]:
    """Outputs are integrals: they do not depend on the inputs of the same instant."""
    outputs = [variable.reference for variable in variables if variable.causality == "output"]
    if version == "3.0":
        return [
            *(f'    <Output valueReference="{number}" dependencies=""/>' for number in outputs),
            *(f'    <InitialUnknown valueReference="{number}"/>' for number in outputs),
        ]
    return [
        "    <Outputs>",
        *(f'      <Unknown index="{number + 1}" dependencies=""/>' for number in outputs),
        "    </Outputs>",
        "    <InitialUnknowns>",
        *(f'      <Unknown index="{number + 1}"/>' for number in outputs),
        "    </InitialUnknowns>",
    ]
