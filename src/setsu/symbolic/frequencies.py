"""Which pair do most nodes of a program hold? Asked again after every change, for `simplification`."""

from __future__ import annotations

import random

__all__ = ["Frequencies"]


class Frequencies:
    """Pairs with the nodes that hold them, found by how many these are."""

    def __init__(self) -> None:
        self._users: dict[tuple, set[int]] = {}
        self._by_count: dict[int, set[tuple]] = {}

    def users(self, pair: tuple) -> set[int]:
        """Nodes that hold the pair."""
        return self._users[pair]

    def add(self, pair: tuple, node: int) -> None:
        """Note that a node holds the pair."""
        users = self._users.setdefault(pair, set())
        self._by_count.get(len(users), set()).discard(pair)
        users.add(node)
        self._by_count.setdefault(len(users), set()).add(pair)

    def remove(self, pair: tuple, node: int) -> None:
        """Note that it no longer does."""
        users = self._users[pair]
        self._by_count[len(users)].discard(pair)
        users.discard(node)
        self._by_count.setdefault(len(users), set()).add(pair)

    def forget(self, pair: tuple) -> None:
        """Leave the pair out from now on."""
        self._by_count[len(self._users.pop(pair))].discard(pair)

    def most_frequent(self, rng: random.Random) -> tuple | None:
        """One of the pairs that most nodes hold, two at least."""
        most = max((count for count, pairs in self._by_count.items() if pairs), default=0)
        return rng.choice(sorted(self._by_count[most])) if most >= 2 else None
