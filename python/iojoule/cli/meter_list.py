"""``iojoule meter list``: every driver, and what could be read on this machine."""

from __future__ import annotations

from typing import Annotated

import typer


def list_meters(json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False) -> None:
    """Every kind of meter there is, and what was found attached here. Opens nothing.

    Examples:  iojoule meter list · iojoule meter list --json
    """
    from dataclasses import asdict

    from iojoule.cli import console
    from iojoule.meters.attached import places
    from iojoule.meters.catalog import catalog
    from iojoule.meters.table import DRIVERS

    kinds, here = catalog(), places()
    if json:
        attached = [asdict(place) | {"kinds": [kind for kind in place.kinds if kind in DRIVERS]} for place in here]
        console.document({"kinds": [asdict(one) | {"usable": one.usable} for one in kinds], "attached": attached})
        return
    for one in kinds:
        where = "as noted" if len(one.boundaries) > 2 else ", ".join(one.boundaries)  # as the section says
        print(f"{one.kind:18} {where or 'as noted':18} {one.about}")
        if one.missing:
            print(f"{'':18} cannot be used here: {', '.join(one.missing)} missing; pip install 'iojoule[meters]'")
        elif one.needs:
            print(f"{'':18} through {', '.join(one.needs)}")
    print("\nattached here:")
    for place in here:
        known = [kind for kind in place.kinds if kind in DRIVERS]
        readers = f"  (read by {', '.join(known)})" if place.found and known else ""
        print(f"  {place.name:20} {', '.join(place.found) or f'nothing in {place.looked_in}'}{readers}")
        if place.note:
            print(f"  {'':20} {place.note}")
    print("Meters on the network are not searched for: iojoule meter probe --kind KIND -S key=value asks one.")
