"""Where nothing changes but one limb that still moves, forces of contacts are smooth in time, and steps are cheap.

Steps keep the momentum of a tree exactly: while a limb moves, all points of the others are displaced alike, by less
than a nanometre. Contacts that do not foresee it, because they slid or were open in the step before, would press and
let go in turn, step by step, and so would their friction.
"""

from __future__ import annotations

import numpy as np
import pytest

import setsu


def _fall(turn: float) -> setsu.Recording:
    """A limp humanoid, pushed over, on a floor that is turned about the vertical with it."""
    m = setsu.sample_mechanisms.hoap1_like()
    q, v = m.neutral(), np.zeros(m.nv)
    poses = setsu.body_poses(m, q)
    places = [poses[m.frame(p.body).body] @ m.frame(p.body).pose.matrix @ [*p.position, 1.0] for p in m.contact_points]
    q[2] -= min(place[2] for place in places)
    q[3:7] = (0.0, 0.0, np.sin(0.5 * turn), np.cos(0.5 * turn))
    v[0], v[4] = 0.6, 1.0  # body axes
    return setsu.simulate(m, q, v, 0.85, 1e-3, environment=setsu.Environment.floor())


@pytest.mark.parametrize("turn", [0.0, 0.7])
def test_forces_of_contacts_do_not_alternate(turn: float) -> None:
    run = _fall(turn)
    log = run.contact_log
    assert log is not None
    force = run.contact_force[700:]
    assert (np.linalg.norm(force, axis=-1) > 0.0).sum(axis=1).min() > 10
    bend = np.abs(force[2:] - 2.0 * force[1:-1] + force[:-2]).max()
    assert bend < 1e-3 * np.abs(force).max()  # 0.6 where contacts forget how their ways bend
    assert log.rounds[700:].mean() < 2.0
    assert log.passes[700:].mean() < 1.1
