"""Hands spans and measurements to an OTLP receiver, and its place in the trace to the agent."""
