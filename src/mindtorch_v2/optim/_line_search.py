"""A line search that ends where the strong Wolfe conditions hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

Evaluate = Callable[[Any], tuple[float, torch.Tensor]]


class _Point:
    """A place on the line: its distance, loss, gradient and slope along the line."""

    def __init__(self, t: Any, loss: float, gradient: torch.Tensor, slope: Any) -> None:
        self.t, self.loss, self.gradient, self.slope = t, loss, gradient, slope


def _lowest_of_cubic(a: _Point, b: _Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through both points with both slopes is lowest, within the bounds."""
    low, high = bounds if bounds is not None else (min(a.t, b.t), max(a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2.0
    d2 = square**0.5
    if a.t <= b.t:
        lowest = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        lowest = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(lowest, low), high)


def strong_wolfe(
    evaluate: Evaluate,
    t: Any,
    direction: torch.Tensor,
    loss: float,
    gradient: torch.Tensor,
    slope: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, torch.Tensor, Any, int]:
    """Loss, gradient and distance of the point found, and how often the loss was computed."""
    size = direction.abs().max()
    start = _Point(0, loss, gradient.clone(memory_format=torch.contiguous_format), slope)
    calls = 0

    def visit(at: Any) -> _Point:
        nonlocal calls
        calls += 1
        value, there = evaluate(at)
        return _Point(at, value, there, there.dot(direction))

    def too_high(point: _Point) -> bool:
        return bool(point.loss > start.loss + c1 * point.t * start.slope)

    def flat(point: _Point) -> bool:
        return bool(abs(point.slope) <= -c2 * start.slope)

    # Outwards, until a stretch of the line must hold a point that satisfies the conditions.
    before, point = start, visit(t)
    bracket: list[_Point] = []
    done = False
    iteration = 0
    while iteration < max_ls:
        if too_high(point) or (iteration > 1 and point.loss >= before.loss):
            bracket = [before, point]
            break
        if flat(point):
            bracket, done = [point], True
            break
        if point.slope >= 0:
            bracket = [before, point]
            break
        low = point.t + 0.01 * (point.t - before.t)
        following = _lowest_of_cubic(before, point, (low, point.t * 10))
        before = _Point(
            point.t, point.loss, point.gradient.clone(memory_format=torch.contiguous_format), point.slope
        )
        point = visit(following)
        iteration += 1
    if iteration == max_ls:
        bracket = [start, point]

    # Inwards, until the conditions hold or the stretch is too short.
    stuck = False
    low_at, high_at = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    while not done and iteration < max_ls:
        left, right = bracket
        if abs(right.t - left.t) * size < tolerance_change:
            break
        t = _lowest_of_cubic(left, right)
        low, high = min(left.t, right.t), max(left.t, right.t)
        margin = 0.1 * (high - low)
        if min(high - t, t - low) < margin:  # too near an end to learn from
            if stuck or t >= high or t <= low:
                t = high - margin if abs(t - high) < abs(t - low) else low + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = visit(t)
        iteration += 1
        if too_high(point) or point.loss >= bracket[low_at].loss:
            bracket[high_at] = point
            low_at, high_at = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        else:
            if flat(point):
                done = True
            elif point.slope * (bracket[high_at].t - bracket[low_at].t) >= 0:
                bracket[high_at] = bracket[low_at]
            bracket[low_at] = point
    best = bracket[low_at] if len(bracket) > 1 else bracket[0]
    return best.loss, best.gradient, best.t, calls
