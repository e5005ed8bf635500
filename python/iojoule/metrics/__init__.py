"""Tables → numbers. Pure functions: no files, no clock. Import the module that is needed; nothing heavy is loaded here.

1. `channels`: readings by channel, and which channels may be added;
2. `integrate` → `energy`: joules of a phase, with a budget (`uncertainty`);
3. `latency`, `rates`, `power`: distributions and courses over time;
4. `fidelity`, `efficiency`: was the load as planned, and what did a joule buy;
5. `cell` → `block`, `little`, `operating_point`: block load, its audit, the best cells of a sweep; `steady_state` and
   `equivalence` are rules on their own;
6. `summary.run_metrics` → `repeats.campaign_metrics` → `repeats.compare`: a run, its repeats, two targets.

The nouns (`Span`, `Metric`, `Estimate`, `Difference`, `Finding`, `Limits`) stand in `metric`.
"""
