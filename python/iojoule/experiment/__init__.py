"""From a file to run folders.

1. ``parse``   the TOML file, with errors that name file, line, key and nearest match
2. ``model``   ``Experiment``: targets × workloads × repeats, and the meters that watch
3. ``plan``    ``Plan``: the experiment unrolled into steps; pure data
4. ``runner``  walks the plan: prepares targets, starts meters, runs workloads, closes everything whatever happens
"""
