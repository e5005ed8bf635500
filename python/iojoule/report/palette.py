"""One colour per target everywhere on the page. Okabe and Ito's set, told apart by colour-blind eyes."""

from __future__ import annotations

from collections.abc import Sequence

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b35c9a", "#c58a00", "#3a9fd8", "#8c6d46", "#7a7a7a")


def colours(targets: Sequence[str]) -> dict[str, str]:
    """Colour by target, in the order of the experiment."""
    return {target: COLOURS[i % len(COLOURS)] for i, target in enumerate(targets)}


def faint(colour: str, alpha: float = 0.18) -> str:
    """The same colour for an envelope."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"
