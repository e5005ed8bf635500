"""meterlab: instruments that do not exist, with physics, to try meters and drivers on.

1. ``load``  the truth: watts and volts of a drive or a machine over time, with an exact integral
2. ``instrument``  what an instrument makes of it: gain, offset, noise, steps, windows, latency, a clock that drifts
3. ``<front>``  the protocol it speaks, one file each, listed in ``table``: a pure ``answer`` and a way to serve it
4. ``faults``  what goes wrong on a bench: silence, half lines, garbage, late and doubled answers, overload

Every front can be served on a real socket, terminal or tree of files, or be spoken to in the same process on a
simulated clock (``link``), where an hour takes a second.
"""

from iojoule.meters.lab.table import FRONTS, front_class

__all__ = ["FRONTS", "front_class"]
