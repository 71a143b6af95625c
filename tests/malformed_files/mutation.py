"""Seeded damage to model files, and what a loader may answer: a finite mechanism or one of our own errors.

Run as a program it loads a range of mutants of one file and prints the number of each before it starts on it, so that
a parent process can tell which mutant hung or crashed: `mutation.py FILE FIRST LAST FOLDER`; or it loads files as they
are: `mutation.py FILE ...`.
"""

from __future__ import annotations

import random
import re
import sys
import warnings
from pathlib import Path

import numpy as np

from setsu.errors import SetsuError
from setsu.mechanism import Mechanism
from setsu.model_files import load

SNIPPETS = [
    "0",
    "-",
    "1e308",
    "nan",
    "inf",
    "<",
    ">",
    "/>",
    "</",
    "-1",
    "99999999999",
    '"',
    " ",
    "1e-320",
    "é",
    "\x01",
    "[",
    "%n",
]
VALUES = [
    "", "0", "-1", "1e300", "0 0 0", "nan", "inf", "-inf", "a", "1,5", "1 2 3 4 5 6 7 8 9", "2147483648", "1e-300",
    "world", "fixed", "ball", "free", "mesh", "base", "upper", "left", "knee", "${pi}",
    "revolute", "floating", "planar", "0 1", "%n", "%s%n%s", "%1000000000d",
]  # fmt: skip


def mutant(text: str, seed: int) -> str:
    """Return the text with one to three pieces of damage.

    Cut, inserted, doubled, swapped, an attribute dropped, or a value replaced.
    """
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(text) + 1)
        length = chance.choice([1, 3, 10, 40, 200])
        damage = chance.random()
        if damage < 0.1:
            text = text[:start] + text[start + length :]
        elif damage < 0.2:
            text = text[:start] + chance.choice(SNIPPETS) + text[start:]
        elif damage < 0.3:
            other = chance.randrange(len(text) + 1)
            text = text[:start] + text[other : other + length] + text[start:]
        elif damage < 0.45:
            lines = text.split("\n")
            lines.insert(chance.randrange(len(lines)), lines.pop(chance.randrange(len(lines))))
            text = "\n".join(lines)
        elif damage < 0.55:
            found = chance.choice([*re.finditer(r' [\w:]+="[^"\n]*"', text), None])
            text = text[: found.start()] + text[found.end() :] if found else text
        else:
            quoted = list(re.finditer(r'"([^"\n]*)"|-?[0-9]+\.?[0-9]*', text))
            if quoted:
                found = chance.choice(quoted)
                value = chance.choice(VALUES)
                text = text[: found.start()] + (f'"{value}"' if found[1] is not None else value) + text[found.end() :]
    return text


def outcome(path: Path) -> str:
    """Load a file; return "mechanism" (finite in every number) or "refused". Anything else is an exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mechanism = load(path)
    except SetsuError as error:
        if str(path) not in str(error):
            raise AssertionError(f"the message does not name the file: {error}") from error
        return "refused"
    assert_finite(mechanism)
    return "mechanism"


def assert_finite(mechanism: Mechanism) -> None:
    """Every number that enters dynamics is finite, and so are the tables made of them."""
    for body in mechanism.bodies:
        numbers = [*body.pose.rotation, *body.pose.translation, body.mass, *body.center_of_mass, *body.inertia]
        assert np.isfinite(numbers).all(), f"{body}"
        assert np.isfinite([*body.joint.axis, *body.joint.damping, *body.joint.armature, *body.joint.stiffness]).all()
    for loop in mechanism.loops:
        assert np.isfinite([*loop.pose_a.rotation, *loop.pose_a.translation]).all()
        assert np.isfinite([*loop.pose_b.rotation, *loop.pose_b.translation]).all()
    for coupling in mechanism.couplings:
        assert np.isfinite([coupling.offset, *(factor for _, factor in coupling.factors), *coupling.polynomial]).all()
    for tendon in mechanism.tendons:
        assert np.isfinite([tendon.stiffness, tendon.damping, *tendon.rest]).all()
    for actuator in mechanism.actuators:
        assert np.isfinite([*actuator.gear, *actuator.gain, *actuator.bias]).all()
    for key in mechanism.keys:
        assert np.isfinite([*key.q, *key.v, *key.control]).all()
    assert np.isfinite(mechanism.neutral()).all()
    assert np.isfinite(mechanism.tables.true.second_moment).all()
    assert np.isfinite(mechanism.tables.translation).all()


def load_mutants(source: Path, first: int, last: int, folder: Path) -> dict[str, int]:
    """Load the mutants first..last-1 of a file; return how often each outcome came."""
    text = source.read_text(encoding="utf-8")
    counts = {"mechanism": 0, "refused": 0}
    for seed in range(first, last):
        print(seed, flush=True)
        path = folder / f"mutant{source.suffix}"
        path.write_text(mutant(text, seed), encoding="utf-8")
        counts[outcome(path)] += 1
    return counts


def load_all(paths: list[Path]) -> dict[str, int]:
    """Load files as they are; return how often each outcome came."""
    counts = {"mechanism": 0, "refused": 0}
    for path in paths:
        print(path.name, flush=True)
        counts[outcome(path)] += 1
    return counts


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[2].isdigit():
        counts = load_mutants(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
    else:
        counts = load_all([Path(argument) for argument in sys.argv[1:]])
    print(" ".join(f"{key}={count}" for key, count in counts.items()))
