"""Meters: what watches the power while a workload runs.

The way of a reading:

1. ``config``, ``table``  a ``[[meter]]`` section of the experiment becomes the checked ``Config`` of its driver
2. ``sampler``  one process per meter: opens the driver, keeps the pace, prints readings as JSON lines
3. ``supervisor``  in the runner: starts the processes, hands their readings on, restarts the one that dies
4. ``base``  the words all of them share: ``Channel``, ``Reading``, ``Accuracy``, ``Retry | Reconnect | Fatal``

A driver is one file; ``counter`` (registers that wrap), ``sysfs`` (attributes of the kernel) and ``visa`` (instruments
that speak lines) are what drivers stand on. Nothing heavy is imported here.
"""

from iojoule.meters.table import DRIVERS, meter_config_models, parse_meter

__all__ = ["DRIVERS", "meter_config_models", "parse_meter"]
