"""Numbers → laws. Pure functions: numbers in, numbers out, no files, no clock. Import the module that is needed.

1. `sr_array`: latency and throughput of an SR-Array, and the configuration to choose.
2. `amdahl`, `usl`: rate and response over queue depth; `power`: watts over queue depth;
   `inverted`: the printed form that has the wrong limit; all fitted by `regression`.
"""
