"""Readings for monitoring systems: ``tally`` keeps what they ask for, ``prometheus`` and ``otlp`` say it in their way.

For dashboards and alarms. What a monitoring system stores are samples of its own scrapes: for the energy of a run take the
readings of the run folder.
"""
