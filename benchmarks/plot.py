"""Curves over two logarithmic axes, as an SVG that needs nothing to be drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["drawn"]

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 860, 480, 70, 250, 20, 50
_COLOURS = ("#1b6ca8", "#c0392b", "#1e8449", "#7d3c98", "#b9770e", "#34495e", "#0e8c8c", "#a04070")


def drawn(curves: Mapping[str, Sequence[tuple[float, float]]], across: str, up: str) -> str:
    """The picture of some curves.

    Args:
        curves: The points of each, by its name; all values above 0.
        across, up: What the axes mean.
    """
    points = [point for curve in curves.values() for point in curve]
    lows = [math.floor(math.log10(min(point[axis] for point in points))) for axis in (0, 1)]
    highs = [math.ceil(math.log10(max(point[axis] for point in points))) for axis in (0, 1)]
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def place(point: tuple[float, float]) -> tuple[float, float]:
        shares = [(math.log10(point[axis]) - lows[axis]) / (highs[axis] - lows[axis] or 1) for axis in (0, 1)]
        return round(_LEFT + shares[0] * wide, 1), round(_TOP + (1 - shares[1]) * high, 1)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" style="font: 13px sans-serif">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    for power in range(lows[0], highs[0] + 1):
        x, _ = place((10.0**power, 10.0 ** lows[1]))
        out.append(f'<path d="M{x} {_TOP}V{_TOP + high}" stroke="#ddd"/>')
        out.append(f'<text x="{x}" y="{_TOP + high + 18}" text-anchor="middle">{10**power:,}</text>')
    for power in range(lows[1], highs[1] + 1):
        _, y = place((10.0 ** lows[0], 10.0**power))
        out.append(f'<path d="M{_LEFT} {y}H{_LEFT + wide}" stroke="#ddd"/>')
        label = f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"
        out.append(f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{label}</text>')
    out.append(f'<text x="{_LEFT + wide / 2}" y="{_HEIGHT - 10}" text-anchor="middle">{escape(across)}</text>')
    middle = _TOP + high / 2
    out.append(
        f'<text transform="rotate(-90 16 {middle})" x="16" y="{middle}" text-anchor="middle">{escape(up)}</text>'
    )
    ends = sorted(((place(curve[-1])[1], name) for name, curve in curves.items() if curve), reverse=True)
    spread: dict[str, float] = {}
    for y, name in ends:
        spread[name] = min(y, min(spread.values(), default=math.inf) - 17)
    for (name, curve), colour in zip(curves.items(), _COLOURS, strict=False):
        if not curve:
            continue
        dots = [place(point) for point in curve]
        path = "L".join(f"{x} {y}" for x, y in dots)
        out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in dots]
        out.append(f'<text x="{_LEFT + wide + 12}" y="{spread[name] + 4}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*out, "</svg>", ""])
