"""Whether the requests of a load lie on its target: asked of the plan where the target's section says enough, and again
of the open target, which knows all."""

from __future__ import annotations

from collections.abc import Sequence

from iojoule.errors import ConfigError
from iojoule.targets.storage import Place


def refuse_what_does_not_fit(
    place: Place, sizes: Sequence[int], *, offset: int, size: int | None, stride: int | None, direct: bool
) -> None:
    """ConfigError where requests of these ``sizes``, between ``offset`` and ``offset + size``, cannot be made there."""
    unit = place.block_bytes if direct else 1
    places = {"offset": offset, "size": size or 0, "stride": stride or 0}
    for key, value in [*(("block_size", one) for one in sizes), *places.items()]:
        if value % unit:
            raise ConfigError(
                f"{key}: {value} B is no multiple of the logical block of {place.name}, which direct access needs",
                key=f"workload.{key}",
                value=value,
                allowed=f"multiples of {unit} B, or direct = false",
            )
    if place.size_bytes is None and size is None:
        return
    end = place.size_bytes if size is None else offset + size
    assert end is not None
    if place.size_bytes is not None and (end > place.size_bytes or offset >= place.size_bytes):
        raise ConfigError(
            f"offset + size reaches {end if size else offset} B, behind the end of {place.name}",
            key="workload.size" if size else "workload.offset",
            value=size or offset,
            allowed=f"up to {place.size_bytes} B",
        )
    if (largest := max(sizes)) > end - offset:
        raise ConfigError(
            f"block_size: a request of {largest} B is larger than the region of {end - offset} B on {place.name}",
            key="workload.block_size",
            value=largest,
        )
