"""Which way to write inverse dynamics runs quickest: the shortest program, the one `compile` takes, a traced kernel.

Run with `python -m setsu.benchmarks.inverse_dynamics_forms`: nanoseconds per state, in batches and one by one, of the
same torques. The order of the forms is what counts: it decides what `compile` uses.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from setsu.benchmarks.subjects import ROBOTS, robot
from setsu.benchmarks.timing import Timed, nanoseconds_per_state
from setsu.kernels.newton_euler_link import inverse_dynamics_link
from setsu.mechanism import Mechanism
from setsu.model_files.load import load
from setsu.native.function import NativeFunction
from setsu.native.inverse_dynamics_program import inverse_dynamics_program
from setsu.native.linear_coordinates import tree_drives
from setsu.native.specialised import Trace, trace

__all__ = ["forms", "main"]

_STATES = 1024


def forms(m: Mechanism) -> dict[str, NativeFunction]:
    """Return inverse dynamics compiled in three ways, by name."""
    t = m.tables
    kernel = inverse_dynamics_link(specialised=True)
    write = partial(inverse_dynamics_program, t, t.regrouped, tree_drives(t))
    traces = {"traced kernel": trace(kernel, t, m.nq)}
    for name, program in (("compile's program", write(shortest=False)), ("shortest program", write())):
        traces[name] = Trace(program.graph, {"tau": program.torques})
    functions = {}
    for name, traced in traces.items():
        # The name is part of the key that compiled code is kept under.
        function = NativeFunction(replace(kernel, name=f"form {name}"), m, name="inverse_dynamics", specialised=True)
        function.trace = traced
        functions[name] = function
    return functions


def main(rounds: int = 200) -> None:
    """Print one line per robot and form."""
    print(f"{'':10}{'':20}{'operations':>12}{'ns in a batch':>15}{'ns in a loop':>14}")
    for name in ROBOTS:
        subject = robot(name)
        if subject is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "robot.urdf"
            path.write_text(subject.urdf, encoding="utf-8")
            m = load(path, floating_base=subject.floating_base)
        rng = np.random.default_rng(0)
        q = np.array([m.random_configuration(rng) for _ in range(_STATES)])
        v, a = rng.standard_normal((2, _STATES, m.nv))
        made = forms(m)
        batch = [Timed(partial(function.fast, q, v, a), _STATES) for function in made.values()]
        loop = [Timed(partial(function.one_by_one, q, v, a), _STATES) for function in made.values()]
        times = zip(
            made.items(), nanoseconds_per_state(batch, rounds), nanoseconds_per_state(loop, rounds), strict=True
        )
        for (form, function), in_batch, in_loop in times:
            print(f"{name:10}{form:20}{function.trace.operations.total:12d}{in_batch:15.1f}{in_loop:14.1f}")


if __name__ == "__main__":
    main()
