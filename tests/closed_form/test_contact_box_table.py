"""A free box against closed forms of mechanics: every row of the acceptance table."""

from __future__ import annotations

import pytest

from setsu.reproduce.sugihara2002 import box_table


@pytest.mark.slow
def test_default_solver_passes_every_row() -> None:
    failed = [row for row in box_table.box_rows("default") if not row.passes]
    assert not failed, "\n".join(f"{row.name}: {row.computed} instead of {row.expected}" for row in failed)


def test_the_papers_method_fails_where_it_is_known_to_fail() -> None:
    # Penetration never recovers: a box dropped comes to rest inside the floor.
    rows = [row for row in box_table._drop("sugihara2002") if "penetration" in row.name]
    assert not any(row.passes for row in rows)
