"""Columns of the tables the runner writes, and the version every manifest carries."""

from __future__ import annotations

import pyarrow as pa

SCHEMA_VERSION = 1

READINGS = pa.schema(
    [
        pa.field("meter", pa.string(), nullable=False),
        pa.field("channel", pa.string(), nullable=False),
        pa.field("quantity", pa.string(), nullable=False),
        pa.field("unit", pa.string(), nullable=False),
        pa.field("seq", pa.uint64(), nullable=False),
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64(), nullable=False),
        pa.field("u_time_ns", pa.int64(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("u_value", pa.float64(), nullable=False),
        pa.field("quality", pa.string(), nullable=False),
    ],
    metadata={"iojoule.schema_version": str(SCHEMA_VERSION)},
)
"""One row a reading: a value over the window ``[start_ns, end_ns]`` of host time; ``quality``: flags and spaces."""

_NAMES = pa.dictionary(pa.int8(), pa.string())

REQUESTS = pa.schema(
    [
        pa.field("seq", pa.uint64(), nullable=False),
        pa.field("phase", _NAMES, nullable=False),
        pa.field("planned_ns", pa.int64(), nullable=False),
        pa.field("issued_ns", pa.int64(), nullable=False),
        pa.field("first_byte_ns", pa.int64(), nullable=True),
        pa.field("done_ns", pa.int64(), nullable=False),
        pa.field("op", _NAMES, nullable=False),
        pa.field("object", pa.uint32(), nullable=False),
        pa.field("offset", pa.uint64(), nullable=False),
        pa.field("bytes", pa.uint64(), nullable=False),
        pa.field("status", pa.uint16(), nullable=False),
        pa.field("error", _NAMES, nullable=False),
        pa.field("stream", pa.uint32(), nullable=False),
    ],
    metadata={"iojoule.schema_version": str(SCHEMA_VERSION)},
)
"""One row a request, as the engine writes it (crates/record/src/request.rs); for loads that other programs make."""
