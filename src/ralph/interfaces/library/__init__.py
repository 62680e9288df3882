"""Functions for programs that steer a loop themselves. Import them from ``ralph``."""
