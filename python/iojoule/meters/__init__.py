"""Meters: what watches the power while a workload runs.

The way of a reading:

1. ``config``, ``table``  a ``[[meter]]`` section of the experiment becomes the checked ``Config`` of its driver
2. ``sampler``  one process per meter: opens the driver, keeps the pace, prints readings as JSON lines (``wire``)
3. ``supervisor``, ``process``  in the runner: starts the processes, hands their readings on, restarts the one that dies
4. ``base``  the words all of them share: ``Channel``, ``Reading``, ``Accuracy``, ``Retry | Reconnect | Fatal``
5. ``clock``, ``clock_history``, ``continuity``  when a reading was: meters' clocks on the host's, gaps between windows

A driver is one file, named by its kind. What drivers stand on:

- ways to a meter: ``visa`` and ``dialogue`` (lines, SCPI), ``tcp_line``, ``http_link``, ``mqtt_link``, ``json_body``,
  ``modbus_link``, ``snmp_link``, ``ipmi_link``, ``sigrok_process``, ``sysfs`` (attributes of the kernel)
- makers of windows: ``polled`` (registers without an edge), ``managed`` (devices that have them), ``counter`` (those
  that wrap), ``scanner`` (shunts in supply rails), ``yokogawa`` (update edges)
- logs of others: ``log_text``, ``log_table``, ``ptdaemon_log``

``serve`` hands readings to other machines, ``export`` to monitoring systems; ``lab`` has instruments that do not exist.
Nothing heavy is imported here.
"""

from iojoule.meters.table import DRIVERS, meter_config_models, parse_meter

__all__ = ["DRIVERS", "meter_config_models", "parse_meter"]
