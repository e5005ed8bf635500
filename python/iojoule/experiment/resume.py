"""The plan of a campaign that was interrupted, made again from what its folder holds."""

from __future__ import annotations

import json
from pathlib import Path

from iojoule.errors import ConfigError
from iojoule.experiment.parse import loads
from iojoule.experiment.plan import Plan, make_plan
from iojoule.store.reader import CampaignFolder


def plan_of(campaign: CampaignFolder) -> Plan:
    """The plan ``campaign`` was begun with; ConfigError where its file would unroll differently today."""
    written = campaign.path / "experiment.toml"
    source = campaign.manifest.get("source")
    if source is None or not written.exists():
        raise ConfigError(
            f"{campaign.path} does not hold the experiment it was begun with; only campaigns can be resumed"
        )
    plan = make_plan(loads(written.read_text(encoding="utf-8"), Path(source["path"]), source["settings"]))
    begun = json.loads((campaign.path / "plan.json").read_text(encoding="utf-8"))
    if begun["steps"] != json.loads(json.dumps(plan.describe()["steps"])):
        raise ConfigError(f"{campaign.path} was begun with other steps (environment or version changed); run it anew")
    return plan
