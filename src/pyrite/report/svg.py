"""SVG elements as markup, escaped; coordinates along a plot are per cent, so plots stretch."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from pyrite.report.text import plain

Value = str | float | int


def element(tag: str, attributes: Mapping[str, Value], *children: Markup | str) -> Markup:
    """One element; text children and attribute values are escaped, numbers rounded to 2 decimals."""
    shown = Markup("").join(
        Markup(' {}="{}"').format(name, plain(_value(value))) for name, value in attributes.items()
    )
    inside = Markup("").join(child if isinstance(child, Markup) else plain(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(tag, shown, inside)


def figure(css: str, title: str, *children: Markup) -> Markup:
    """An `<svg>` that says what it shows: read out, and shown on hover. The title is always text."""
    named = element("title", {}, title.unescape() if isinstance(title, Markup) else title)
    return element("svg", {"class": css, "role": "img"}, named, *children)


def across(share: float) -> str:
    """A position along the plot: 0 is its left end, 1 its right end.

    >>> across(0.5), across(1 / 3)
    ('50%', '33.33%')
    """
    return f"{_value(100.0 * share)}%"


def _value(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)
