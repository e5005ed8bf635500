"""fio (Jens Axboe's flexible I/O tester): run as a load, and its job files read as experiments.

1. ``load``      ``Fio``, the workload ``kind = "fio"``: the real fio drives the target while our meters watch.
2. ``job``       the job file it is given: made from our keys, or the user's, pointed at the target.
3. ``process``   fio under a hard time limit, in a process group that ends with us (``watchdog``).
4. ``output``    its JSON; ``logs`` its latency logs, as our ``requests`` table.
5. ``jobfile``   reads job files; ``values`` their sizes and times.
6. ``keys``      each key of fio and what becomes of it here.
7. ``become``    makes an experiment of a job file, of each job a ``draft`` and then a ``workload``.
"""
