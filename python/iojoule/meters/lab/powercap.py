"""The powercap tree of a processor with RAPL: a package, its cores inside, dram beside it. Intel SDM vol. 3B §15.10.

Registers count units of 2^-14 J (61 µJ) or 2^-16 J (15.3 µJ), as the seed draws, are updated every millisecond and
start again at ``max_energy_range_uj``, which is small here, so that they do it often.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Iterator
from typing import Any, ClassVar

from iojoule.meters.lab.instrument import Instrument, Make
from iojoule.meters.lab.load import Truth
from iojoule.meters.lab.tree import Tree

#: The kernel's own truncation of 2^-14 J and 2^-16 J to nanojoules.
UNITS_NJ = (61_035, 15_258)
RANGE_J = 2000.0
#: What part of the package's energy the other domains have.
SHARES = {"intel-rapl:0": 1.0, "intel-rapl:0:0": 0.7, "intel-rapl:0:1": 0.2}
NAMES = {"intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:0:1": "dram"}
U_PCT = 1.0


class PowercapFront:
    """The package's energy is the truth's, but for a gain within 1 %."""

    ABOUT: ClassVar[str] = "RAPL counters of a processor in a powercap tree; they wrap every 2 kJ"
    WATTS: ClassVar[tuple[float, float]] = (10.0, 150.0)

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        draw = random.Random(f"powercap/{seed}")
        self.unit_nj = draw.choice(UNITS_NJ)
        # Whole units and whole microjoules.
        self.modulus_uj = int(RANGE_J * 1e9) // (1000 * self.unit_nj) * self.unit_nj
        self.instrument = Instrument(truth, Make(rdg_pct=U_PCT, update_s=0.001, phase_s=draw.random() * 0.001), seed)
        self._count_j = draw.random() * RANGE_J
        self._until_ns: int | None = None
        fixed: dict[str, object] = {f"{zone}/name": name for zone, name in NAMES.items()}
        fixed |= {f"{zone}/max_energy_range_uj": self.modulus_uj - 1 for zone in NAMES}
        self.tree = Tree(fixed, self._registers)

    def section(self) -> dict[str, Any]:
        u_rel = U_PCT / 100 / math.sqrt(3)
        return {
            "kind": "powercap", "root": str(self.tree.root), "interval": "100ms", "p_max_w": 400, "u_rel": u_rel,
        }  # fmt: skip

    def link(self) -> None:
        return None

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        with self.tree.moving(0.002) as root:
            yield str(root)

    def truth_channels(self) -> tuple[str, ...]:
        return ("package-0",)

    def _registers(self, now_ns: int) -> dict[str, object]:
        end_ns = self.instrument.shown(now_ns).end_ns
        if self._until_ns is not None and end_ns > self._until_ns:
            self._count_j += self.instrument.counted(self._until_ns, now_ns)
        self._until_ns = max(end_ns, self._until_ns or end_ns)
        return {f"{zone}/energy_uj": self._shown(self._count_j * share) for zone, share in SHARES.items()}

    def _shown(self, joules: float) -> int:
        """Whole units, in the microjoules the kernel shows, within the register."""
        return int(joules * 1e9 // self.unit_nj * self.unit_nj // 1000) % self.modulus_uj
