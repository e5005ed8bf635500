"""Numbers → laws. Pure functions: numbers in, numbers out, no files, no clock. Import the module that is needed.

1. `sr_array`: latency and throughput of an SR-Array, and the configuration to choose.
"""
