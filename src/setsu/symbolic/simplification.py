"""Fewer operations for the same values: sums and products of a graph reordered, factored and shared.

A graph records operations two by two, in the order a kernel happens to write them. Here sums and products of any length
take their place, which rounding aside have no order:

    1. flatten: a sum within a sum, a product within a product, where nothing else uses the inner one
       (a - b) - (a - c) = c - b: inner ones that are used elsewhere are put in where terms cancel
    2. factor: a b + a c = a (b + c), constants too: x k1 + x k2 = x (k1 + k2), k (k1 x + k2 y) = (k k1) x + (k k2) y
    3. share: the pair that most sums (products) have in common becomes a node of its own, again and again;
       a - b and b - a are one, a sign is carried to the sum that takes it in

Which factor or pair comes first is a matter of luck where several are equally frequent; seeded orders are tried and the
least is kept (for arms, forty orders gave nothing that two did not).

Source: greedy elimination of common sub-expressions as compilers do it (Breuer, 1969), with signs. Cost: a few passes
over the graph per order tried; beyond `_LARGE` operations one order only.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence

from setsu.symbolic.frequencies import Frequencies
from setsu.symbolic.graph import Expression, Graph, Op, Scalar
from setsu.symbolic.substitution import apply_operation

__all__ = ["simplified"]

_LARGE = 1200
_ROUNDS = 8
# Pairs grow as the square of a sum's length; longer ones (inverses of matrices written out) keep their terms.
_LONGEST = 100

# A value: sign, number of a node. A node: ("number", value), ("leaf", key), ("call", op, values), ("sum", terms),
# ("product", factors); terms: ((node, ±1), ...) sorted by node, factors: sorted nodes, a constant among them at most.
Value = tuple[int, int]
Terms = dict[int, float]


def simplified(graph: Graph, outputs: Sequence[Scalar], orders: int = 2) -> tuple[Graph, list[Scalar]]:
    """Return a graph and outputs with the same values and at most as many operations.

    orders: how many seeded orders to try.

    >>> graph = Graph()
    >>> a, b, c = (graph.input(name) for name in "abc")
    >>> graph, outputs = simplified(graph, [a * b + c * a, (c + b) * 2.0])
    >>> graph.count(outputs).total
    3
    """
    best_graph, best = graph, list(outputs)
    least = graph.count(best).total
    for order in range(orders if least <= _LARGE else 1):
        found_graph, found = _one_order(graph, outputs, random.Random(order))
        count = found_graph.count(found).total
        if count < least:
            best_graph, best, least = found_graph, found, count
    return best_graph, best


def _one_order(graph: Graph, outputs: Sequence[Scalar], rng: random.Random) -> tuple[Graph, list[Scalar]]:
    forms = _Forms.read(graph, outputs)
    best = forms.write()
    least = best[0].count(best[1]).total
    for _ in range(_ROUNDS):
        forms = forms.flattened()
        forms.factor(rng)
        forms = forms.flattened()
        forms.share("sum", rng)
        forms.share("product", rng)
        found = forms.write()
        count = found[0].count(found[1]).total
        if count >= least:
            break
        best, least = found, count
    return best


class _Forms:
    """Nodes of a program as sums and products of any length; `outputs` as values."""

    def __init__(self) -> None:
        self.nodes: list[tuple] = []
        self.known: dict[tuple, int] = {}
        self.outputs: list[Value] = []

    def node(self, node: tuple) -> int:
        number = self.known.get(node)
        if number is None:
            number = self.known[node] = len(self.nodes)
            self.nodes.append(node)
        return number

    def number(self, value: float) -> Value:
        return (-1 if value < 0 else 1), self.node(("number", abs(value)))

    def sum(self, terms: Terms, constant: float) -> Value:
        """Node of a sum, its first term positive; multiples become products."""
        plain: dict[int, int] = {}
        for node, factor in terms.items():
            if factor == 0:
                continue
            if abs(factor) != 1:
                sign, node = self.product([node], factor)
                factor = sign
            merged = plain.get(node, 0) + int(factor)
            if abs(merged) > 1:
                # The same multiple twice: give up merging, count it once more.
                sign, other = self.product([node], float(merged))
                del plain[node]
                plain[other] = plain.get(other, 0) + sign
            else:
                plain[node] = merged
        plain = {node: sign for node, sign in plain.items() if sign}
        if constant != 0:
            sign, node = self.number(constant)
            plain[node] = sign
        if not plain:
            return self.number(0.0)
        items = sorted(plain.items())
        if len(items) == 1:
            return items[0][1], items[0][0]
        sign = items[0][1]
        return sign, self.node(("sum", tuple((node, factor * sign) for node, factor in items)))

    def product(self, factors: Iterable[int], constant: float) -> Value:
        sign = -1 if constant < 0 else 1
        rest = []
        size = abs(constant)
        for factor in factors:
            if self.nodes[factor][0] == "number":
                size *= self.nodes[factor][1]
            else:
                rest.append(factor)
        if size == 0 or not rest:
            return self.number(sign * size)
        if len(rest) == 1:
            absorbed = self._scaled_sum(rest[0], sign * size)
            if absorbed is not None:
                return absorbed
        if size != 1:
            rest.append(self.node(("number", size)))
        if len(rest) == 1:
            return sign, rest[0]
        return sign, self.node(("product", tuple(sorted(rest))))

    def _scaled_sum(self, node: int, factor: float) -> Value | None:
        """A constant times a sum whose terms all hold constants goes into these."""
        kind, *content = self.nodes[node]
        if kind != "sum" or abs(factor) == 1:
            return None
        total: Terms = {}
        for term, sign in content[0]:
            inner = self.nodes[term]
            if inner[0] != "product" or not any(self.nodes[k][0] == "number" for k in inner[1]):
                return None
            sign2, scaled = self.product(inner[1], factor * sign)
            total[scaled] = total.get(scaled, 0) + sign2
        return self.sum(total, 0.0)

    @staticmethod
    def read(graph: Graph, outputs: Sequence[Scalar]) -> _Forms:
        """Take over what the outputs of a graph need."""
        forms = _Forms()
        values: dict[int, Value] = {}
        for index in graph.needed(outputs):
            op, args = graph.ops[index], graph.args[index]
            if op is Op.INPUT:
                values[index] = 1, forms.node(("leaf", args[0]))
                continue
            if op is Op.CONSTANT:
                values[index] = forms.number(float(args[0]))
                continue
            given = [values[arg] for arg in args]
            match op:
                case Op.ADD | Op.SUB:
                    (s, a), (t, b) = given
                    t = t if op is Op.ADD else -t
                    terms: Terms = {a: s}
                    terms[b] = terms.get(b, 0) + t
                    values[index] = forms.combined(terms)
                case Op.NEG:
                    values[index] = -given[0][0], given[0][1]
                case Op.MUL:
                    values[index] = forms.product([a for _, a in given], given[0][0] * given[1][0])
                case _:
                    values[index] = 1, forms.node(("call", op, tuple(given)))
        for output in outputs:
            known = isinstance(output, Expression)
            forms.outputs.append(values[output.index] if known else forms.number(float(output)))  # type: ignore[arg-type]
        return forms

    def combined(self, terms: Terms) -> Value:
        """A sum whose constants meet."""
        constant = sum(sign * self.nodes[node][1] for node, sign in terms.items() if self.nodes[node][0] == "number")
        return self.sum({n: s for n, s in terms.items() if self.nodes[n][0] != "number"}, constant)

    def parts(self, node: int) -> list[int]:
        kind, *content = self.nodes[node]
        if kind == "sum":
            return [term for term, _ in content[0]]
        if kind == "product":
            return list(content[0])
        return [value[1] for value in content[1]] if kind == "call" else []

    def order(self) -> list[int]:
        """Nodes the outputs need, parts before users."""
        done: set[int] = set()
        order: list[int] = []
        stack = [(node, False) for _, node in reversed(self.outputs)]
        while stack:
            node, ready = stack.pop()
            if node in done:
                continue
            if ready:
                done.add(node)
                order.append(node)
            else:
                stack.append((node, True))
                stack.extend((part, False) for part in self.parts(node) if part not in done)
        return order

    def uses(self, order: list[int]) -> Counter[int]:
        uses: Counter[int] = Counter(node for _, node in self.outputs)
        for node in order:
            uses.update(self.parts(node))
        return uses

    def flattened(self) -> _Forms:
        """The same program with inner sums and products taken in where nothing else uses them (1)."""
        order = self.order()
        uses = self.uses(order)
        new = _Forms()
        values: dict[int, Value] = {}
        for node in order:
            kind, *content = self.nodes[node]
            if kind == "number":
                values[node] = new.number(content[0])
            elif kind == "leaf":
                values[node] = 1, new.node(("leaf", content[0]))
            elif kind == "call":
                op, given = content
                moved = tuple((sign * values[arg][0], values[arg][1]) for sign, arg in given)
                values[node] = 1, new.node(("call", op, moved))
            elif kind == "product":
                sign, factors = 1, []
                for factor in content[0]:
                    s, moved = values[factor]
                    sign *= s
                    inner = new.nodes[moved]
                    factors += inner[1] if inner[0] == "product" and uses[factor] == 1 else [moved]
                values[node] = new.product(factors, sign)
            else:
                values[node] = new.flat_sum([(term, sign, *values[term]) for term, sign in content[0]], uses)
        new.outputs = [(sign * values[node][0], values[node][1]) for sign, node in self.outputs]
        return new

    def flat_sum(self, given: list[tuple[int, int, int, int]], uses: Counter[int]) -> Value:
        terms: Terms = {}
        inner: list[tuple[int, int]] = []
        for old, outer, sign, node in given:
            factor = outer * sign
            if self.nodes[node][0] == "sum" and uses[old] == 1:
                for term, s in self.nodes[node][1]:
                    terms[term] = terms.get(term, 0) + s * factor
            else:
                terms[node] = terms.get(node, 0) + factor
                if self.nodes[node][0] == "sum":
                    inner.append((node, factor))
        for node, factor in inner:
            if abs(terms.get(node, 0)) != 1:
                continue
            inside = [(term, s * factor) for term, s in self.nodes[node][1]]
            change = sum(_cost(terms.get(term, 0) + s) - _cost(terms.get(term, 0)) for term, s in inside)
            if change < _cost(terms[node]):
                del terms[node]
                for term, s in inside:
                    terms[term] = terms.get(term, 0) + s
        return self.combined(terms)

    def factor(self, rng: random.Random) -> None:
        """Take common factors out of sums (2)."""
        order = self.order()
        uses = self.uses(order)
        moved: dict[int, Value] = {}
        for node in order:
            kind, *content = self.nodes[node]
            if kind in ("number", "leaf"):
                moved[node] = 1, node
            elif kind == "call":
                op, given = content
                args = tuple((sign * moved[arg][0], moved[arg][1]) for sign, arg in given)
                moved[node] = 1, self.node(("call", op, args))
            elif kind == "product":
                sign = 1
                for factor in content[0]:
                    sign *= moved[factor][0]
                moved[node] = self.product([moved[factor][1] for factor in content[0]], sign)
            else:
                terms: Terms = {}
                single: set[int] = set()
                for term, sign in content[0]:
                    s, now = moved[term]
                    terms[now] = terms.get(now, 0) + s * sign
                    if uses[term] == 1:
                        single.add(now)
                moved[node] = self._factored(terms, single, rng)
        self.outputs = [(sign * moved[node][0], moved[node][1]) for sign, node in self.outputs]

    def _factored(self, terms: Terms, single: set[int], rng: random.Random) -> Value:
        while True:
            holders: dict[int, list[int]] = {}
            for term in sorted(terms):
                if term in single and abs(terms[term]) == 1 and self.nodes[term][0] == "product":
                    for factor in set(self.nodes[term][1]):
                        holders.setdefault(factor, []).append(term)
            shared = {factor: where for factor, where in holders.items() if len(where) > 1}
            if not shared:
                return self.combined(terms)
            gains = {factor: self._gain(factor, where) for factor, where in shared.items()}
            most = max(gains.values())
            factor = rng.choice(sorted(factor for factor, gain in gains.items() if gain == most))
            inside: Terms = {}
            for term in shared[factor]:
                rest = list(self.nodes[term][1])
                rest.remove(factor)
                sign, left = self.product(rest, terms.pop(term)) if rest else self.number(1.0)
                inside[left] = inside.get(left, 0) + sign
            s, total = self.combined(inside)
            sign, whole = self.product([factor, total], s)
            terms[whole] = terms.get(whole, 0) + sign
            single.add(whole)

    def _gain(self, factor: int, where: list[int]) -> int:
        """Operations saved by taking a factor out of these products; sums of constants cost nothing."""
        constants = sum(
            1 for term in where if all(self.nodes[k][0] == "number" for k in self.nodes[term][1] if k != factor)
        )
        return len(where) - 1 + 2 * max(0, constants - 1)

    def share(self, kind: str, rng: random.Random) -> None:
        """Make the most frequent pair of terms (factors) a node of its own, until none is found twice (3)."""
        order = self.order()
        bags: dict[int, dict[int, int] | Counter[int]] = {}
        for node in order:
            if self.nodes[node][0] == kind:
                content = self.nodes[node][1]
                bags[node] = dict(content) if kind == "sum" else Counter(content)
        pairs = Frequencies()
        for node, bag in bags.items():
            for pair in self._pairs(kind, bag):
                pairs.add(pair, node)
        while (pair := pairs.most_frequent(rng)) is not None:
            first, second, relative = pair
            if kind == "sum":
                made = self.node(("sum", ((first, 1), (second, relative))))
            else:
                made = self.node(("product", (first, second)))
            users = sorted(pairs.users(pair))
            if made not in bags:
                bags[made] = {first: 1, second: relative} if kind == "sum" else Counter((first, second))
            for user in users:
                bag = bags[user]
                if user == made or made in bag:
                    continue
                changed = (first, second) if kind == "sum" else None
                for old in self._pairs(kind, bag, changed):
                    pairs.remove(old, user)
                if kind == "sum":
                    sign = bag.pop(first)
                    del bag[second]
                    bag[made] = bag.get(made, 0) + sign
                    changed = (made,)
                else:
                    bag[first] -= 1
                    bag[second] -= 1
                    bag[made] += 1
                    for part in (first, second):
                        if bag[part] <= 0:
                            del bag[part]
                for fresh in self._pairs(kind, bag, changed):
                    pairs.add(fresh, user)
            pairs.forget(pair)
        self._replace(kind, bags)

    def _pairs(
        self, kind: str, bag: dict[int, int] | Counter[int], holding: tuple[int, ...] | None = None
    ) -> list[tuple[int, int, int]]:
        """Pairs of a bag; of a sum only those that hold one of some terms, if these are given."""
        if len(bag) > _LONGEST:
            return []
        if kind == "sum" and holding is not None:
            found = [(min(a, b), max(a, b), bag[a] * bag[b]) for a in holding for b in bag if b not in holding]
            return found if len(holding) < 2 else [*found, (*sorted(holding), bag[holding[0]] * bag[holding[1]])]  # type: ignore[list-item]
        parts = sorted(bag)
        if kind == "sum":
            return [(a, b, bag[a] * bag[b]) for k, a in enumerate(parts) for b in parts[k + 1 :]]
        found = [(a, b, 1) for k, a in enumerate(parts) for b in parts[k + 1 :]]
        return found + [(a, a, 1) for a in parts if bag[a] > 1]

    def _replace(self, kind: str, bags: dict[int, dict[int, int] | Counter[int]]) -> None:
        """Put the bags in place of the nodes they came from."""
        for node, bag in bags.items():
            if kind == "sum":
                self.nodes[node] = ("sum", tuple(sorted(bag.items())))
            else:
                self.nodes[node] = ("product", tuple(sorted(bag.elements())))  # type: ignore[union-attr]
        self.known = {}

    def write(self) -> tuple[Graph, list[Scalar]]:
        """Return the program as a graph again."""
        graph = Graph()
        values: dict[int, Scalar] = {}
        for node in self.order():
            kind, *content = self.nodes[node]
            if kind == "number":
                values[node] = content[0]
            elif kind == "leaf":
                values[node] = graph.input(content[0])
            elif kind == "call":
                given = [sign * values[arg] for sign, arg in content[1]]
                values[node] = apply_operation(graph, content[0], given)
            elif kind == "product":
                total: Scalar = 1.0
                # The constant last: graphs keep it there.
                for factor in sorted(content[0], key=lambda k: (self.nodes[k][0] == "number", k)):
                    total = total * values[factor]
                values[node] = total
            else:
                total = 0.0
                for term, sign in sorted(content[0], key=lambda entry: (-entry[1], entry[0])):
                    total = total + values[term] if sign > 0 else total - values[term]
                values[node] = total
        return graph, [sign * values[node] for sign, node in self.outputs]


def _cost(factor: float) -> int:
    """Additions by a term of a sum, a multiple counted as one more."""
    return 0 if factor == 0 else 1 + (abs(factor) != 1)
