"""iojoule measures what a watt of storage buys.

The way of a run: an experiment file becomes an ``Experiment``, this a ``Plan``, and the runner turns each of its steps
into a run folder; metrics are computed from the tables in it, and the report from the metrics.

1. ``iojoule.experiment``  the file format, the plan, the runner
2. ``iojoule.targets``, ``iojoule.workloads``, ``iojoule.meters``  what is measured, what is done to it, what watches
3. ``iojoule.store``  the run folder
4. ``iojoule.metrics``, ``iojoule.report``  tables to numbers, numbers to pictures
"""

__version__ = "0.1.0"
