"""What runs tell receivers of telemetry, as plain values: spans, measurements, their names, and Prometheus' text."""
