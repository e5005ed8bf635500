"""The run folder: write, read, verify, query.

1. ``writer``  ``RunWriter`` and ``CampaignWriter``: manifest, events and readings while a run goes on
2. ``reader``  ``open_run`` and ``open_campaign``: what a folder holds, mended first if its writer was killed
3. ``query``   SQL over the tables of a run or a campaign (DuckDB)

The layout is the manual's page "The run folder". Every table keeps its rows up to the last row group when the
process that wrote it is killed.
"""
