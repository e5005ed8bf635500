"""Numbers → one page. `load_campaign(folder)` reads, `build_report(campaign)` returns self-contained HTML.

1. `data`: what a report needs of a campaign, and how it is read from its folder;
2. `reduce`: a run's tables → its metrics, courses and distributions; runs → groups of repeats;
3. `findings`: plain sentences, the first thing on the page;
4. `figures`, `tables`: pictures as Plotly documents, each with its table;
5. `intervals`: one row per second of a run, for those who draw their own;
6. `page`: all of it into `templates/report.html.j2`.
"""

from __future__ import annotations

from .data import CampaignData, RunData, load_campaign
from .page import build_report

__all__ = ["CampaignData", "RunData", "build_report", "load_campaign"]
