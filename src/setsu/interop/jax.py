"""JAX: functions of the library under `jit`, `vmap`, `grad`, `jvp` and `vjp`, in double precision.

The numbers come from native code through `jax.pure_callback`; derivatives are our exact ones, as a rule of
`jax.custom_jvp` that is linear in the tangents, so that JAX transposes it for `grad`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from setsu.errors import InputError
from setsu.interop.differentiable import Differentiable, check_arguments, differentiable, refuse_second
from setsu.mechanism import Mechanism

__all__ = ["function"]


def function(mechanism: Mechanism, name: str, **options: Any) -> Callable[..., Any]:
    """Return a function of the library for JAX arrays.

    Args:
        name: "forward_dynamics" (q, v, tau) -> a, "inverse_dynamics" (q, v, a) -> tau, "constrained_dynamics"
            (q, v, tau) -> a under loops and couplings, or "step" (q, v, tau) -> (q, v), one step of a Simulator.
        options: of the function, or of the Simulator. For the first two also `parameters`, names of bodies: their
            inertial parameters (..., 10 n), as in `setsu.inertial_parameters`, become a fourth argument.

    Arrays may have leading batch axes. Derivatives by q are by its numbers, quaternions included. float32 arrays are
    computed in double precision and returned as float32.

    Raises:
        InputError: JAX is missing or without 64-bit numbers, an unknown name; second derivatives.

    >>> import jax, setsu
    >>> jax.config.update("jax_enable_x64", True)
    >>> fd = setsu.interop.jax.function(setsu.sample_mechanisms.pendulum(), "forward_dynamics")
    >>> import jax.numpy as jnp
    >>> g = jax.grad(lambda tau: fd(jnp.array([0.1]), jnp.zeros(1), tau)[0])(jnp.zeros(1))
    >>> g.shape
    (1,)
    """
    try:
        import jax
    except ImportError:
        raise InputError("setsu.interop.jax: JAX is missing; install it by: pip install setsu[jax]") from None
    if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise InputError(
            "setsu.interop.jax: JAX computes in single precision; expected "
            'jax.config.update("jax_enable_x64", True) before'
        )
    return _wrapped(jax, differentiable(mechanism, name, options))


def _wrapped(jax: Any, f: Differentiable) -> Callable[..., Any]:
    jnp = jax.numpy

    def called(compute: Callable, shapes: list[tuple[int, ...]], arrays: tuple) -> tuple:
        batch = np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
        dtype = jnp.result_type(*arrays)
        wanted = tuple(jax.ShapeDtypeStruct((*batch, *shape), dtype) for shape in shapes)

        def compute_double(*given: Any) -> tuple[Any, ...]:
            found = compute(*(np.asarray(array, dtype=np.float64) for array in given))
            return tuple(np.asarray(array, dtype=dtype) for array in found)

        return jax.pure_callback(compute_double, wanted, *arrays, vmap_method="broadcast_all")

    def checked(arrays: tuple) -> tuple:
        taken = tuple(jnp.asarray(array) for array in arrays)
        check_arguments(f, "jax", [array.shape for array in taken])
        return tuple(array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float) for array in taken)

    @jax.custom_jvp
    def value(*arrays: Any) -> tuple:
        return called(f.value, [(size,) for size in f.outputs], arrays)

    @jax.custom_jvp
    def jacobians(*arrays: Any) -> tuple:
        return called(f.jacobians, [(rows, columns) for rows in f.outputs for columns in f.inputs], arrays)

    @jacobians.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        raise refuse_second(f, "jax")

    @value.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        blocks = jacobians(*primals)
        results = []
        for k in range(len(f.outputs)):
            mine = blocks[k * len(f.inputs) : (k + 1) * len(f.inputs)]
            parts = [jnp.einsum("...ij,...j->...i", J, t) for J, t in zip(mine, tangents, strict=True)]
            results.append(sum(parts[1:], parts[0]))
        return value(*primals), tuple(results)

    def wrapped(*arrays: Any) -> Any:
        found = value(*checked(arrays))
        return found if len(found) > 1 else found[0]

    wrapped.__name__ = f.name
    wrapped.__doc__ = f"{f.name} for JAX arrays, with exact first derivatives."
    return wrapped
