"""C++17 text of a mechanism's class: one header of static methods on std::array, a self-test, and a CMake target.

Methods keep no state, allocate nothing, loop only where loops of the mechanism are closed, and are noexcept, so that a
real-time controller may call them from any thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from setsu.code_generation.c_source import DOUBLE, SINGLE, number_text, read_inputs
from setsu.code_generation.cpp_class import JointMotion, Method
from setsu.code_generation.program_text import Notation, assignments
from setsu.native.specialised import Trace
from setsu.symbolic import Op

__all__ = ["CppClass", "cmake_lists", "cpp_header", "cpp_test"]

Floats = NDArray[np.float64]

_FUNCTIONS = {Op.COS: "std::cos", Op.SIN: "std::sin", Op.SQRT: "std::sqrt"}
# Newton steps end when coordinates change by less than this many units of rounding.
_ROUNDINGS = 450.0
_MOST_STEPS = 40


@dataclass(frozen=True)
class CppClass:
    """A class: its name, what it is of, numbers of coordinates and velocities with their names, and its methods."""

    name: str
    title: str
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    methods: tuple[Method, ...]
    motion: JointMotion | None
    single: bool

    @property
    def real(self) -> str:
        """Type of all numbers."""
        return "float" if self.single else "double"

    def array(self, length: int) -> str:
        """Type of an array of numbers."""
        return f"std::array<{self.real}, {length}>"

    @property
    def notation(self) -> Notation:
        """How C++ writes a program."""
        return replace(SINGLE if self.single else DOUBLE, functions=_FUNCTIONS)


def cpp_header(made: CppClass) -> str:
    """Return the text of the .hpp file."""
    guard = f"SETSU_{made.name.upper()}_HPP"
    body: list[str] = []
    for method in made.methods:
        body += [*_method(made, method), ""]
    if made.motion is not None:
        body += _joint_motion(made, made.motion)
    lines = [
        f"// {made.title}",
        "//",
        "// Generated code. All methods are static, noexcept, without state or allocation: any thread may call them.",
        f"#ifndef {guard}", f"#define {guard}", "",
        "#include <array>", "#include <cmath>", "#include <cstddef>", "",
        "namespace setsu {", "",
        f"class {made.name} {{", "public:",
        f"    using Real = {made.real};",
        f"    static constexpr std::size_t nq = {len(made.coordinates)};",
        f"    static constexpr std::size_t nv = {len(made.velocities)};",
        *_names("coordinate_names", made.coordinates),
        *_names("velocity_names", made.velocities), "",
        *body,
        "};", "", "}  // namespace setsu", "", "#endif", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _names(variable: str, names: Sequence[str]) -> list[str]:
    listed = ", ".join(f'"{name}"' for name in names)
    return [f"    static constexpr std::array<const char*, {len(names)}> {variable}{{{{{listed}}}}};"]


def _result(made: CppClass, method: Method) -> str:
    """Type a method returns: an array, or a structure of several."""
    outputs = method.signature.outputs
    if len(outputs) == 1:
        return made.array(outputs[0][1])
    return "".join(word.capitalize() for word in method.signature.name.split("_"))


def _method(made: CppClass, method: Method) -> list[str]:
    s = method.signature
    lines = []
    result = _result(made, method)
    if len(s.outputs) > 1:
        members = [f"        {made.array(length)} {name};  // {meaning}" for name, length, meaning in s.outputs]
        lines += [f"    struct {result} {{", *members, "    };", ""]
    arrays = [*((name, n, meaning) for name, n, meaning in s.inputs), *s.outputs]
    count = method.trace.operations
    lines.append(f"    // {s.title}.")
    lines += [f"    //   {name}[{length}]: {meaning}" for name, length, meaning in arrays]
    lines.append(f"    // {count.add} additions, {count.mul} multiplications and divisions, {count.func} functions.")
    inputs = tuple((name, length) for name, length, _ in s.inputs)
    return [*lines, *_function(made, s.name, inputs, result, method.trace)]


def _function(made: CppClass, name: str, inputs: tuple[tuple[str, int], ...], result: str, trace: Trace) -> list[str]:
    """A static function of arrays as straight-line code."""
    program = assignments(trace.graph, trace.outputs, made.notation)
    parameters = ", ".join(f"const {made.array(length)}& {array}" for array, length in inputs)
    read = read_inputs(trace)
    single = len(program.outputs) == 1
    lines = [f"    static {result} {name}({parameters}) noexcept", "    {"]
    lines += [f"        (void){array};" for array, _ in inputs if array not in read]
    lines += [f"        const Real {step} = {text};" for step, text in program.steps]
    lines.append(f"        {result} result{{}};")
    for output, texts in program.outputs.items():
        target = "result" if single else f"result.{output}"
        lines += [f"        {target}[{k}] = {text};" for k, text in enumerate(texts)]
    return [*lines, "        return result;", "    }"]


def _joint_motion(made: CppClass, motion: JointMotion) -> list[str]:
    nq, nv = len(made.coordinates), len(made.velocities)
    sizes = [part.shape[1] for part in motion.driven]
    coordinates, rates, _ = (made.array(size) for size in sizes)
    start = ", ".join(number_text(x, made.single) for x in motion.start.tolist())
    lines = [
        f"    static constexpr std::size_t n_driven_coordinates = {sizes[0]};",
        f"    static constexpr std::size_t n_driven = {sizes[1]};",
        *_names("driven_coordinate_names", motion.names[0]),
        *_names("driven_names", motion.names[1]), "",
        "    // Coordinates, velocities and accelerations of all joints; at first a closed configuration at rest.",
        "    struct JointMotion {",
        f"        {made.array(nq)} q{{{{{start}}}}};",
        f"        {made.array(nv)} v{{}};",
        f"        {made.array(nv)} a{{}};",
        "    };", "",
        "    // Motion of all joints from that of the driven ones; loops and couplings closed.",
        "    //   q_driven, v_driven, a_driven: rad, m and per second, per second squared",
    ]  # fmt: skip
    given = "".join(f"const {kind}& {name}_driven, " for kind, name in ((coordinates, "q"), (rates, "v"), (rates, "a")))
    head = [f"    static bool joint_motion({given}JointMotion& all) noexcept", "    {"]
    if motion.closer is None:
        inputs = tuple(zip(("q", "v", "a"), sizes, strict=True))
        return [
            *lines,
            "    //   all: what is found. Returns true: these loops close by a linear relation.",
            *head,
            "        const Followed found = follow(q_driven, v_driven, a_driven);",
            "        all.q = found.q_all;", "        all.v = found.v_all;", "        all.a = found.a_all;",
            "        return true;", "    }", "",
            "private:",
            *_followed(made, {"q_all": nq, "v_all": nv, "a_all": nv}),
            *_function(made, "follow", inputs, "Followed", motion.follow),
        ]  # fmt: skip
    tolerance = _ROUNDINGS * float(np.finfo(np.float32 if made.single else np.float64).eps)
    one, most = number_text(1.0, made.single), number_text(tolerance, made.single)
    return [
        *lines,
        "    //   all: on entry q says from where the passive joints are sought, as a rule where they were before.",
        f"    // Returns whether they were found within {_MOST_STEPS} Newton steps; otherwise `all` is left as it was.",
        *head,
        f"        {made.array(nq)} q = all.q;",
        *(f"        q[{place}] = q_driven[{k}];" for k, place in enumerate(motion.places)),
        f"        for (int step = 0; step < {_MOST_STEPS}; ++step) {{",
        f"            {made.array(nq)} next = closer(q);",
        *_normalised(made, motion),
        f"            Real change = {number_text(0.0, made.single)};",
        "            for (std::size_t i = 0; i < nq; ++i) {",
        "                if (!std::isfinite(next[i])) {",
        "                    return false;",
        "                }",
        f"                change = std::fmax(change, std::fabs(next[i] - q[i]) / ({one} + std::fabs(q[i])));",
        "            }",
        "            q = next;",
        f"            if (change <= {most}) {{",
        "                const Followed found = follow(q, v_driven, a_driven);",
        "                for (std::size_t i = 0; i < nv; ++i) {",
        "                    if (!std::isfinite(found.v_all[i]) || !std::isfinite(found.a_all[i])) {",
        "                        return false;",
        "                    }",
        "                }",
        "                all.q = q;",
        "                all.v = found.v_all;",
        "                all.a = found.a_all;",
        "                return true;",
        "            }",
        "        }",
        "        return false;",
        "    }", "",
        "private:",
        "    // One Newton step of the passive joints towards closed loops.",
        *_function(made, "closer", (("q", nq),), made.array(nq), motion.closer), "",
        *_followed(made, {"v_all": nv, "a_all": nv}),
        *_function(made, "follow", (("q", nq), ("v_driven", sizes[1]), ("a_driven", sizes[2])), "Followed",
                   motion.follow),
    ]  # fmt: skip


def _followed(made: CppClass, members: dict[str, int]) -> list[str]:
    listed = [f"        {made.array(length)} {name};" for name, length in members.items()]
    return ["    struct Followed {", *listed, "    };", ""]


def _normalised(made: CppClass, motion: JointMotion) -> list[str]:
    if not motion.quaternions:
        return []
    zero = number_text(0.0, made.single)
    listed, kind = ", ".join(map(str, motion.quaternions)), f"std::array<std::size_t, {len(motion.quaternions)}>"
    return [
        f"            for (const std::size_t at : {kind}{{{{{listed}}}}}) {{",
        f"                Real square = {zero};",
        "                for (std::size_t i = at; i < at + 4; ++i) {",
        "                    square += next[i] * next[i];",
        "                }",
        "                for (std::size_t i = at; i < at + 4; ++i) {",
        "                    next[i] /= std::sqrt(square);",
        "                }",
        "            }",
    ]


def cpp_test(made: CppClass) -> str:
    """Return a program that runs all methods on states and compares; counts allocations too. Exit code 0 or 1."""
    lines = [
        f'#include "{made.name}.hpp"', "",
        "#include <cmath>", "#include <cstddef>", "#include <cstdio>", "#include <cstdlib>", "#include <new>", "",
        "// Every allocation is counted: none may happen inside a method.",
        "static std::size_t allocations = 0;",
        "void* operator new(std::size_t size)", "{", "    ++allocations;",
        "    if (void* found = std::malloc(size ? size : 1)) {", "        return found;", "    }",
        "    throw std::bad_alloc();", "}",
        "void operator delete(void* given) noexcept { std::free(given); }",
        "void operator delete(void* given, std::size_t) noexcept { std::free(given); }", "",
        f"using Model = setsu::{made.name};", f"using Real = {made.real};", "",
        "static int bad = 0;", "",
        "template <std::size_t N>",
        "static void compare(const char* what, int state, const std::array<Real, N>& found,",
        "                    const std::array<Real, N>& expected, Real tolerance)",
        "{",
        "    for (std::size_t i = 0; i < N; ++i) {",
        "        if (!(std::fabs(found[i] - expected[i]) <= tolerance)) {",
        '            std::printf("%s, state %d, entry %zu: %.17g, expected %.17g\\n", what, state, i,',
        "                        static_cast<double>(found[i]), static_cast<double>(expected[i]));",
        "            bad = 1;", "        }", "    }", "}", "",
    ]  # fmt: skip
    calls: list[str] = []
    for method in made.methods:
        s = method.signature
        arrays = zip((*s.inputs, *s.outputs), [*method.states, *method.results], strict=True)
        for (name, length, _), values in arrays:
            lines += _table(made, f"{s.name}_{name}", values.reshape(len(values), length))
        arguments = ", ".join(f"{s.name}_{name}[k]" for name, _, _ in s.inputs)
        calls += [
            f'    static_assert(noexcept(Model::{s.name}({arguments.replace("[k]", "[0]")})), "noexcept");',
            f"    for (std::size_t k = 0; k < {s.name}_{s.inputs[0][0]}.size(); ++k) {{",
            f"        const auto found = Model::{s.name}({arguments});",
        ]
        for (name, _, _), values in zip(s.outputs, method.results, strict=True):
            found = "found" if len(s.outputs) == 1 else f"found.{name}"
            calls.append(_comparison(made, s.name, found, f"{s.name}_{name}[k]", values, method.tolerance))
        calls.append("    }")
    if made.motion is not None:
        tables, more = _motion_test(made, made.motion)
        lines += tables
        calls += more
    lines += [
        "", "int main()", "{", "    const std::size_t before = allocations;", *calls,
        "    if (allocations != before) {", '        std::printf("%zu allocations\\n", allocations - before);',
        "        bad = 1;", "    }",
        '    std::printf(bad ? "failed\\n" : "all states agree\\n");', "    return bad;", "}", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _comparison(made: CppClass, what: str, found: str, expected: str, values: Floats, tolerance: float) -> str:
    size = float(np.abs(values).max(initial=1.0))
    allowed = number_text(tolerance * size, made.single)
    return f'        compare("{what}", static_cast<int>(k), {found}, {expected}, {allowed});'


def _table(made: CppClass, name: str, values: Floats) -> list[str]:
    kind = f"std::array<{made.array(values.shape[1])}, {len(values)}>"
    rows = [f"    {{{{{', '.join(number_text(x, made.single) for x in row)}}}}}," for row in values.tolist()]
    return [f"static const {kind} {name} = {{{{", *rows, "}};"]


def _motion_test(made: CppClass, motion: JointMotion) -> tuple[list[str], list[str]]:
    tables = _table(made, "motion_guess", motion.guess)
    for name, values in zip("qva", motion.driven, strict=True):
        tables += _table(made, f"motion_driven_{name}", values)
    for name, values in zip("qva", motion.expected, strict=True):
        tables += _table(made, f"motion_{name}", values)
    calls = [
        "    for (std::size_t k = 0; k < motion_guess.size(); ++k) {",
        "        Model::JointMotion all;",
        "        all.q = motion_guess[k];",
        "        static_assert(",
        "            noexcept(Model::joint_motion(motion_driven_q[0], motion_driven_v[0], motion_driven_a[0], all)),",
        '            "noexcept");',
        "        if (!Model::joint_motion(motion_driven_q[k], motion_driven_v[k], motion_driven_a[k], all)) {",
        '            std::printf("joint_motion, state %d: not found\\n", static_cast<int>(k));',
        "            bad = 1;",
        "        }",
    ]
    tolerance = motion.tolerance * (float(np.finfo(np.float32).eps / np.finfo(float).eps) if made.single else 1.0)
    for name, values in zip("qva", motion.expected, strict=True):
        calls.append(_comparison(made, "joint_motion", f"all.{name}", f"motion_{name}[k]", values, tolerance))
    return tables, [*calls, "    }"]


def cmake_lists(name: str) -> str:
    """Return a CMakeLists.txt: the target setsu::NAME, its self-test, and an installation for find_package."""
    return f"""cmake_minimum_required(VERSION 3.14)
project({name} LANGUAGES CXX)

add_library({name} INTERFACE)
add_library(setsu::{name} ALIAS {name})
target_compile_features({name} INTERFACE cxx_std_17)
target_include_directories({name} INTERFACE
  $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}> $<INSTALL_INTERFACE:include>)

if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  include(CTest)
  if(BUILD_TESTING)
    add_executable({name}_test {name}_test.cpp)
    target_link_libraries({name}_test PRIVATE setsu::{name})
    add_test(NAME {name}_test COMMAND {name}_test)
  endif()
endif()

install(FILES {name}.hpp DESTINATION include)
install(TARGETS {name} EXPORT {name})
install(EXPORT {name} FILE {name}Config.cmake NAMESPACE setsu:: DESTINATION lib/cmake/{name})
"""
