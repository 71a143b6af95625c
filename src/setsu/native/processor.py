"""Which processor this is, asked without loading LLVM: its identity for the cache, and how wide its vectors are.

On x86-64 the `cpuid` instruction answers, which is also what LLVM asks: two processors with the same answers get the
same code. Elsewhere LLVM itself is asked, which takes some 20 ms more.
"""

from __future__ import annotations

import ctypes
from functools import cache

from setsu.native.executable_memory import place_code, runs_x86_64_code

__all__ = ["llvm_host", "processor_identity", "vector_width"]

# void ask(uint32 leaf, uint32 subleaf, uint32 answer[4]): eax, ebx, ecx, edx of cpuid
_ASK = bytes.fromhex(
    "53"  # push rbx
    "4989d0"  # mov r8, rdx
    "89f8 89f1 0fa2"  # mov eax, edi; mov ecx, esi; cpuid
    "418900 41895804 41894808 4189500c"  # mov [r8 + 0, 4, 8, 12], eax, ebx, ecx, edx
    "5b c3"  # pop rbx; ret
)
# uint32 enabled(): the registers the operating system saves (xcr0); only where cpuid says that xgetbv exists
_ENABLED = bytes.fromhex("31c9 0f01d0 c3")  # xor ecx, ecx; xgetbv; ret

# What decides LLVM's choice of instructions: (leaf, subleaf, registers). Left out are registers that differ between
# the cores of one processor, as the core's own number in ebx of leaf 1.
_LEAVES = (
    (0x0, 0, "abcd"), (0x1, 0, "acd"), (0x7, 0, "bcd"), (0x7, 1, "abcd"), (0xD, 1, "a"), (0x19, 0, "b"),
    (0x1E, 1, "a"), (0x24, 0, "b"), (0x80000001, 0, "cd"), (0x80000008, 0, "b"),
)  # fmt: skip
_OSXSAVE, _AVX = 1 << 27, 1 << 28  # ecx of leaf 1
_AVX512F = 1 << 16  # ebx of leaf 7
_SAVES_AVX, _SAVES_AVX512 = 0x06, 0xE6  # of xcr0

Answers = dict[tuple[int, int, str], int]


@cache
def _answers() -> Answers | None:
    """What cpuid says, by leaf, subleaf and register, and xcr0 under (0, 0, "x"); None where it cannot be asked."""
    if not runs_x86_64_code():
        return None
    try:
        address = place_code(_ASK.ljust(64, b"\xcc") + _ENABLED)
    except OSError:
        return None
    ask = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(address)
    answer = (ctypes.c_uint32 * 4)()
    where = ctypes.addressof(answer)
    highest = {}
    for start in (0, 0x80000000):
        ask(start, 0, where)
        highest[start] = answer[0]
    answers: Answers = {}
    for leaf, subleaf, registers in _LEAVES:
        # Beyond the highest leaf some processors repeat another one.
        if leaf <= highest[leaf & 0x80000000]:
            ask(leaf, subleaf, where)
            answers |= {(leaf, subleaf, name): answer["abcd".index(name)] for name in registers}
    if answers[0x1, 0, "c"] & _OSXSAVE:
        answers[0, 0, "x"] = ctypes.CFUNCTYPE(ctypes.c_uint32)(address + 64)()
    return answers


@cache
def llvm_host() -> tuple[str, str]:
    """Processor name and features in LLVM's words; loads LLVM."""
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def processor_identity() -> str:
    """A text that is the same only for processors for which LLVM makes the same code."""
    answers = _answers()
    if answers is None:
        return repr(llvm_host())
    return " ".join(f"{leaf:x}.{subleaf}{register}={value:x}" for (leaf, subleaf, register), value in answers.items())


@cache
def vector_width() -> int:
    """Doubles per SIMD instruction: 8 with AVX-512, 4 with AVX, else 2."""
    answers = _answers()
    if answers is None:
        features = llvm_host()[1].split(",")
        return 8 if "+avx512f" in features else 4 if "+avx" in features else 2
    saved = answers.get((0, 0, "x"), 0)
    if answers.get((0x7, 0, "b"), 0) & _AVX512F and saved & _SAVES_AVX512 == _SAVES_AVX512:
        return 8
    return 4 if answers[0x1, 0, "c"] & _AVX and saved & _SAVES_AVX == _SAVES_AVX else 2
