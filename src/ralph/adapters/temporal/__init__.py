"""The fleet's server: connection, encryption, workflows, workers; the only place that knows Temporal."""
