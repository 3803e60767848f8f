"""Operators that compute element by element: shapes, ranges, computation and price."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric import bounds, cost
from pyevm_agents.models.numeric.errors import OutOfRange
from pyevm_agents.models.numeric.limits import ELEMENT_TYPES, TYPE_RANGES
from pyevm_agents.models.numeric.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pyevm_agents.models.numeric.plan import Array, Attribute, Bounds, Kernel, NodeCall, Operand


def build_plan(  # noqa: PLR0913 - one for each fact of an operator
    call: NodeCall,
    operands: Sequence[Operand],
    kernel: Kernel,
    bound: Callable[[], Bounds],
    *,
    kind: str | None = None,
    weight: int = cost.SIMPLE,
    calls: int = 1,
    attributes: dict[str, Attribute] | None = None,
) -> Plan:
    """Return the plan of an operator with broadcasting."""
    shape = call.broadcast(operands)
    return Plan(
        type=operands[0].type if kind is None else kind,
        shape=shape,
        kernel=kernel,
        bound=bound,
        operations=cost.cost_elementwise(shape, [each.shape for each in operands], weight, calls),
        operands=tuple(i for i, operand in enumerate(call.operands) if operand is not None),
        attributes={} if attributes is None else attributes,
    )


def plan_add(call: NodeCall) -> Plan:
    """Plan an addition."""
    a, b = call.get_all()
    return build_plan(
        call, (a, b), np.add, lambda: (bounds.add(a.low, b.low), bounds.add(a.high, b.high))
    )


def plan_subtract(call: NodeCall) -> Plan:
    """Plan a subtraction."""
    a, b = call.get_all()
    return build_plan(
        call,
        (a, b),
        np.subtract,
        lambda: (bounds.subtract(a.low, b.high), bounds.subtract(a.high, b.low)),
    )


def plan_multiply(call: NodeCall) -> Plan:
    """Plan a multiplication."""
    a, b = call.get_all()
    return build_plan(call, (a, b), np.multiply, lambda: _bound_by_corners(bounds.multiply, a, b))


def _bound_by_corners(compute: Kernel, a: Operand, b: Operand) -> Bounds:
    """Return the bounds of a function that is monotone in each operand, up or down."""
    corners = [compute(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return reduce(np.minimum, corners), reduce(np.maximum, corners)


def divide(a: Array, b: Array) -> Array:
    """Divide, truncating towards 0."""
    quotient: Array = np.floor_divide(np.subtract(a, np.fmod(a, b)), b)
    return quotient


def plan_divide(call: NodeCall) -> Plan:
    """Plan a truncating division."""
    a, b = call.get_all()
    _require_divisor(call, b)
    is_positive = bool(a.low.min() >= 0 and b.low.min() > 0)

    def bound() -> Bounds:
        if ((a.low == bounds.LEAST) & (b.low <= -1) & (b.high >= -1)).any():
            raise OutOfRange(-bounds.LEAST)
        return _bound_by_corners(divide, a, b)

    return build_plan(
        call,
        (a, b),
        np.floor_divide if is_positive else divide,
        bound,
        weight=cost.FLOOR if is_positive else cost.DIVISION,
        calls=1 if is_positive else 3,
    )


def _require_divisor(call: NodeCall, divisor: Operand) -> None:
    if ((divisor.low <= 0) & (divisor.high >= 0)).any():
        raise call.fail(
            f"divisor's interval {divisor.low.min()} to {divisor.high.max()}: must not contain 0; "
            f"add Max with 1 before"
        )


def plan_remainder(call: NodeCall) -> Plan:
    """Plan a remainder: with the divisor's sign, or with the dividend's (`fmod`)."""
    a, b = call.get_all()
    _require_divisor(call, b)
    fmod = call.get_integer("fmod", 0, range(2))
    # One less than the divisor's greatest magnitude: no divisor is 0.
    greatest = np.maximum(np.subtract(b.high, 1), np.subtract(-1, b.low))

    def bound() -> Bounds:
        if fmod:
            low = np.where(a.low >= 0, 0, np.maximum(a.low, np.negative(greatest)))
            high = np.where(a.high <= 0, 0, np.minimum(a.high, greatest))
        else:
            low = np.where(b.low > 0, 0, np.add(b.low, 1))
            high = np.where(
                b.low > 0, np.where(a.low >= 0, np.minimum(a.high, greatest), greatest), 0
            )
        # A dividend below every divisor is the remainder.
        unchanged = (a.low >= 0) & (b.low > 0) & (a.high < b.low)
        return np.where(unchanged, a.low, low), np.where(unchanged, a.high, high)

    return build_plan(
        call,
        (a, b),
        np.fmod if fmod else np.mod,
        bound,
        weight=cost.REMAINDER,
        attributes={"fmod": fmod},
    )


def plan_negate(call: NodeCall) -> Plan:
    """Plan a negation."""
    (a,) = call.get_all()
    return build_plan(
        call, (a,), np.negative, lambda: (bounds.negate(a.high), bounds.negate(a.low))
    )


def plan_absolute(call: NodeCall) -> Plan:
    """Plan an absolute value."""
    (a,) = call.get_all()

    def bound() -> Bounds:
        below = bounds.negate(a.low)
        return (
            np.where(a.low > 0, a.low, np.where(a.high < 0, np.negative(a.high), 0)),
            np.maximum(a.high, below),
        )

    return build_plan(call, (a,), np.abs, bound)


def _plan_monotone(call: NodeCall, kernel: Kernel, operands: Sequence[Operand]) -> Plan:
    """Plan a function that rises with each operand; NumPy is called for each pair."""
    steps = max(len(operands) - 1, 1)
    return build_plan(
        call,
        operands,
        kernel,
        lambda: (kernel(*(x.low for x in operands)), kernel(*(x.high for x in operands))),
        weight=steps * cost.SIMPLE,
        calls=steps,
    )


def plan_sign(call: NodeCall) -> Plan:
    """Plan a sign: -1, 0 or 1."""
    return _plan_monotone(call, np.sign, call.get_all())


def rectify(a: Array) -> Array:
    """Return the greater of each number and 0."""
    result: Array = np.maximum(a, 0)
    return result


def plan_rectify(call: NodeCall) -> Plan:
    """Plan a Relu."""
    return _plan_monotone(call, rectify, call.get_all())


def keep_least(*arrays: Array) -> Array:
    """Return the least of arrays, element by element."""
    return reduce(np.minimum, arrays)


def keep_most(*arrays: Array) -> Array:
    """Return the greatest of arrays, element by element."""
    return reduce(np.maximum, arrays)


def plan_least(call: NodeCall) -> Plan:
    """Plan a Min of any number of tensors."""
    return _plan_monotone(call, keep_least, call.get_all())


def plan_most(call: NodeCall) -> Plan:
    """Plan a Max of any number of tensors."""
    return _plan_monotone(call, keep_most, call.get_all())


def clip_both(a: Array, least: Array, most: Array) -> Array:
    """Clip; `most` prevails where below `least`."""
    result: Array = np.minimum(np.maximum(a, least), most)
    return result


def plan_clip(call: NodeCall) -> Plan:
    """Plan a Clip, whose ends are optional."""
    present = tuple(each for each in call.operands if each is not None)
    call.get(0)
    call.require_one_type(present)
    for each in present[1:]:
        if each.shape:
            raise call.fail(f"end of shape {[*each.shape]}: must be a scalar; reshape it to []")
    kernels: dict[tuple[bool, bool], Kernel] = {
        (False, False): np.copy,
        (True, False): np.maximum,
        (False, True): np.minimum,
        (True, True): clip_both,
    }
    kernel = kernels[call.find(1) is not None, call.find(2) is not None]
    return _plan_monotone(call, kernel, present)


def _to_integers(compare: Callable[..., object], *arrays: NDArray[np.generic]) -> Array:
    """Return a comparison as 0 and 1."""
    return np.asarray(compare(*arrays), dtype=np.int64)


def plan_comparison(compare: Callable[..., object], *, is_less: bool) -> Callable[[NodeCall], Plan]:
    """Return the plan of an order: whether the first is less (or greater) than the second."""
    kernel = partial(_to_integers, compare)

    def plan(call: NodeCall) -> Plan:
        a, b = call.get_all()

        def bound() -> Bounds:
            least, most = (a.low, b.high), (a.high, b.low)
            return (kernel(*most), kernel(*least)) if is_less else (kernel(*least), kernel(*most))

        return build_plan(call, (a, b), kernel, bound, kind="bool", calls=2)

    return plan


def plan_equal(call: NodeCall) -> Plan:
    """Plan an equality."""
    a, b = call.get_all()

    def bound() -> Bounds:
        is_sure = (a.low == a.high) & (b.low == b.high) & (a.low == b.low)
        can_be = (a.low <= b.high) & (b.low <= a.high)
        return np.asarray(is_sure, dtype=np.int64), np.asarray(can_be, dtype=np.int64)

    return build_plan(call, (a, b), partial(_to_integers, np.equal), bound, kind="bool", calls=2)


def plan_and(call: NodeCall) -> Plan:
    """Plan a conjunction of truth values."""
    return _plan_monotone(call, np.minimum, call.get_all())


def plan_or(call: NodeCall) -> Plan:
    """Plan a disjunction of truth values."""
    return _plan_monotone(call, np.maximum, call.get_all())


def invert(a: Array) -> Array:
    """Return 1 for 0, and 0 for 1."""
    result: Array = np.subtract(1, a)
    return result


def plan_not(call: NodeCall) -> Plan:
    """Plan a negation of truth values."""
    (a,) = call.get_all()
    return build_plan(call, (a,), invert, lambda: (invert(a.high), invert(a.low)))


def choose(condition: Array, a: Array, b: Array) -> Array:
    """Return `a` where the condition is 1, and `b` elsewhere."""
    return np.where(np.not_equal(condition, 0), a, b)


def plan_choice(call: NodeCall) -> Plan:
    """Plan a Where."""
    condition, a, b = call.get(0), call.get(1), call.get(2)
    call.require_one_type((a, b))
    if condition.type != "bool":
        raise call.fail(f"condition of type {condition.type}: must be bool; compare it with 0")

    def bound() -> Bounds:
        never, always = condition.high == 0, condition.low == 1
        low = np.where(always, a.low, np.where(never, b.low, np.minimum(a.low, b.low)))
        high = np.where(always, a.high, np.where(never, b.high, np.maximum(a.high, b.high)))
        return low, high

    return build_plan(
        call, (condition, a, b), choose, bound, kind=a.type, weight=2 * cost.SIMPLE, calls=3
    )


def plan_cast(call: NodeCall) -> Plan:
    """Plan a Cast between integers and truth values. No value changes, but to truth values."""
    operand = call.get(0)
    number = call.attributes.get("to")
    kind = ELEMENT_TYPES.get(number) if isinstance(number, int) else None
    call.get_integer("saturate", 1, (1,))
    if kind is None or not isinstance(number, int):
        raise call.fail(f"attribute to: must be one of {', '.join(TYPE_RANGES)}; correct it")
    if kind != "bool":
        kernel: Kernel = np.copy
        return build_plan(
            call,
            (operand,),
            kernel,
            lambda: (operand.low, operand.high),
            kind=kind,
            attributes={"to": number},
        )

    def bound() -> Bounds:
        can_be_zero = (operand.low <= 0) & (operand.high >= 0)
        is_zero = (operand.low == 0) & (operand.high == 0)
        return _to_integers(np.logical_not, can_be_zero), _to_integers(np.logical_not, is_zero)

    def kernel_of_truth(a: Array) -> Array:
        return _to_integers(np.not_equal, a, np.zeros((), dtype=np.int64))

    return build_plan(
        call,
        (operand,),
        kernel_of_truth,
        bound,
        kind=kind,
        calls=3,
        attributes={"to": number},
    )
