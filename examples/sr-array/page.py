"""The report: the table paper | ours | ratio, what holds of the orders, and Figures 6 to 11, as one file."""

from __future__ import annotations

import math
from importlib.resources import files
from pathlib import Path

from claims import AIM, RATIOS, orders
from curves import Curves
from pictures import figures

from iojoule.report.page import embedded

HERE = Path(__file__).resolve().parent


def build(curves: Curves, length: float, wall_s: float) -> str:
    """The page as one self-contained HTML document."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    pictures = figures(curves)
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    ratios = [
        (figure, text, f"{paper:g}", _number(ours), _number(ratio), not math.isnan(ratio) and abs(ratio - 1) <= AIM)
        for figure, text, paper, ours, ratio in (claim.row(curves) for claim in RATIOS)
    ]
    return environment.get_template("report.html.j2").render(
        length=length,
        wall_s=wall_s,
        aim=AIM,
        points=len(curves.points),
        requests=sum(found.requests for found in curves.points.values()),
        given_up=sum(not found.sustained for found in curves.points.values()),
        ratios=ratios,
        orders=orders(curves),
        figures=pictures,
        documents={figure.id: embedded(figure.document) for figure in pictures},
        style=_part("style.css"),
        script=_part("report.js"),
        # Inside a script element only its end tag would be taken for markup.
        plotly=get_plotlyjs().replace("</script", "<\\/script"),
    )


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def _part(name: str) -> str:
    return files("iojoule.report").joinpath("templates", name).read_text(encoding="utf-8")
