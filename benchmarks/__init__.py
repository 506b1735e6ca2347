"""What the library costs, beside SQLite written by hand that leaves the same rows: `python -m benchmarks`."""
