"""Like beside like: our time and each peer's fastest time for the same work."""

from __future__ import annotations

from dataclasses import dataclass

from setsu.benchmarks.dynamics import OURS, Study

__all__ = ["Ratio", "ratios"]


@dataclass(frozen=True)
class Ratio:
    """Our time and a peer's for the same work (ns per state); ratio = peer / ours."""

    subject: str
    nv: int
    quantity: str
    mode: str
    threads: int
    variant: str
    nanoseconds: float
    peer: str
    peer_variant: str
    peer_mode: str
    peer_nanoseconds: float

    @property
    def ratio(self) -> float:
        """How many times faster we are."""
        return self.peer_nanoseconds / self.nanoseconds


def ratios(study: Study) -> list[Ratio]:
    """Put each of our ways beside the fastest way of each peer.

    A batch of ours is compared with a peer's batch on as many threads, or, where the peer has none, with its call for
    one state: that is what its user would repeat.
    """
    result = []
    for subject, quantity in dict.fromkeys((row.subject, row.quantity) for row in study.rows):
        rows = [row for row in study.rows if (row.subject, row.quantity) == (subject, quantity)]
        for ours in (row for row in rows if row.engine == OURS):
            for peer in dict.fromkeys(row.engine for row in rows if row.engine != OURS):
                rivals = [row for row in rows if row.engine == peer]
                same = [row for row in rivals if (row.mode, row.threads) == (ours.mode, ours.threads)]
                single = [row for row in rivals if row.mode == "single"] if ours.threads == 1 else []
                best = min(same or single, key=lambda row: row.nanoseconds, default=None)
                if best is not None:
                    result.append(
                        Ratio(
                            subject,
                            ours.nv,
                            quantity,
                            ours.mode,
                            ours.threads,
                            ours.variant,
                            ours.nanoseconds,
                            peer,
                            best.variant,
                            best.mode,
                            best.nanoseconds,
                        )
                    )
    return result
