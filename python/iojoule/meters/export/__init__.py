"""Readings for monitoring systems: ``tally`` keeps what they ask for, ``prometheus`` and ``otlp`` say it their way.

For dashboards and alarms. What a monitoring system stores are samples at the times of its own scrapes: for the energy
of a run take the readings of the run folder.
"""
