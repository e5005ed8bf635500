"""Arrays on the simulated clock: from a design file to figures, without hardware.

1. ``sections``  what every key of a design file means
2. ``design``    a design file read strictly; lists unrolled into points
3. ``request``   one point as the engine takes it
4. ``run``       one point into a run folder
5. ``sweep``     all points over all cores; finished ones are kept as they finish
6. ``page``      what a sweep found, as one self-contained page

Every watt here is a model's: no meter was there.
"""
