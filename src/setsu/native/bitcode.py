"""LLVM modules as they are shipped: optimised without regard to a processor, with all names but the entries removed.

A user's machine then only runs LLVM's back end. Nothing is vectorised or contracted, so the numbers do not depend on
the machine that made the file or on the one that runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

__all__ = ["ALLOWED", "externals", "optimised"]

# What code may call: each is an instruction, exact in floating point, or moves bytes. No function of the C library's
# mathematics is among them: their last bits differ between systems.
ALLOWED = (
    "llvm.sqrt.", "llvm.fabs.", "llvm.copysign.", "llvm.floor.", "llvm.ceil.", "llvm.trunc.", "llvm.rint.",
    "llvm.abs.", "llvm.smax.", "llvm.smin.", "llvm.umax.", "llvm.umin.", "llvm.ctpop.", "llvm.cttz.", "llvm.ctlz.",
    "llvm.fshl.", "llvm.is.fpclass.", "llvm.usub.sat.", "llvm.uadd.sat.", "llvm.memcpy.", "llvm.memset.",
    "llvm.memmove.",
    "llvm.assume", "llvm.lifetime.", "llvm.experimental.noalias.scope.decl",
    "llvm.umul.with.overflow.", "llvm.smul.with.overflow.", "llvm.sadd.with.overflow.", "llvm.uadd.with.overflow.",
)  # fmt: skip


# What Numba leaves to the C library and to its own, here as instructions. All of it is exact or correctly rounded.
_EXACT = {
    "sqrt": """
declare double @llvm.sqrt.f64(double)
define double @sqrt(double %x) alwaysinline {
  %y = call double @llvm.sqrt.f64(double %x)
  ret double %y
}
""",
    # x = m 2^e with 0.5 <= |m| < 1; zero, infinity and NaN give themselves and 0.
    "numba_frexp": """
define double @numba_frexp(double %x, ptr %e) {
  %bits = bitcast double %x to i64
  %shifted = lshr i64 %bits, 52
  %power = and i64 %shifted, 2047
  %is_tiny = icmp eq i64 %power, 0
  %raised = fmul double %x, 0x4350000000000000
  %y = select i1 %is_tiny, double %raised, double %x
  %bias = select i1 %is_tiny, i64 1076, i64 1022
  %y_bits = bitcast double %y to i64
  %y_shifted = lshr i64 %y_bits, 52
  %y_power = and i64 %y_shifted, 2047
  %is_zero = icmp eq i64 %y_power, 0
  %is_infinite = icmp eq i64 %y_power, 2047
  %is_special = or i1 %is_zero, %is_infinite
  %difference = sub i64 %y_power, %bias
  %chosen = select i1 %is_special, i64 0, i64 %difference
  %short = trunc i64 %chosen to i32
  store i32 %short, ptr %e
  %cleared = and i64 %y_bits, -9218868437227405313
  %halved = or i64 %cleared, 4602678819172646912
  %m = bitcast i64 %halved to double
  %result = select i1 %is_special, double %x, double %m
  ret double %result
}
""",
    # x 2^n, rounded once: the factors before the last are exact, unless the result is infinite or zero anyway.
    "numba_ldexp": """
define double @numba_ldexp(double %x, i32 %n) {
  %big1 = icmp sgt i32 %n, 1023
  %small1 = icmp slt i32 %n, -1022
  %down1 = select i1 %small1, double 0x0360000000000000, double 1.0
  %factor1 = select i1 %big1, double 0x7FE0000000000000, double %down1
  %less1 = select i1 %small1, i32 -969, i32 0
  %step1 = select i1 %big1, i32 1023, i32 %less1
  %x1 = fmul double %x, %factor1
  %n1 = sub i32 %n, %step1
  %big2 = icmp sgt i32 %n1, 1023
  %small2 = icmp slt i32 %n1, -1022
  %down2 = select i1 %small2, double 0x0360000000000000, double 1.0
  %factor2 = select i1 %big2, double 0x7FE0000000000000, double %down2
  %less2 = select i1 %small2, i32 -969, i32 0
  %step2 = select i1 %big2, i32 1023, i32 %less2
  %x2 = fmul double %x1, %factor2
  %n2 = sub i32 %n1, %step2
  %is_big = icmp sgt i32 %n2, 1023
  %n3 = select i1 %is_big, i32 1023, i32 %n2
  %is_small = icmp slt i32 %n3, -1022
  %n4 = select i1 %is_small, i32 -1022, i32 %n3
  %biased = add i32 %n4, 1023
  %wide = zext i32 %biased to i64
  %bits = shl i64 %wide, 52
  %last = bitcast i64 %bits to double
  %result = fmul double %x2, %last
  ret double %result
}
""",
}


def optimised(module: Any, exported: Callable[[str], bool]) -> bytes:
    """Return the module as bitcode: what `exported` names is kept by name, all else inlined, removed or renamed."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    declared = {function.name for function in module.functions if function.is_declaration}
    for name, text in _EXACT.items():
        if name in declared:
            made = llvm.parse_assembly(text)
            made.triple, made.data_layout = module.triple, module.data_layout
            module.link_in(made)
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and not exported(value.name):
            value.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.slp_vectorization = options.loop_vectorization = False
    generic = "x86-64" if llvm.get_process_triple().startswith("x86_64") else "generic"
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=generic, opt=2)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    for k, value in enumerate((*module.functions, *module.global_variables)):
        if not value.is_declaration and not exported(value.name):
            value.name = f"f{k}"
    last = llvm.create_new_module_pass_manager()
    last.add_global_dead_code_eliminate_pass()
    last.add_strip_symbols_pass()
    last.add_strip_dead_prototype_pass()
    last.run(module, builder)
    module.name = "setsu"
    module.verify()
    foreign = externals(module)
    if foreign:
        raise ValueError(
            f"compiled code calls {', '.join(foreign)}; expected the functions of setsu.native.compiled_elementary, or "
            "an exact one added to setsu.native.bitcode: others give other bits on other systems"
        )
    return module.as_bitcode()


def externals(module: Any) -> list[str]:
    """Names of what a module calls and does not hold, beyond ALLOWED."""
    return [f.name for f in module.functions if f.is_declaration and not f.name.startswith(ALLOWED)]
