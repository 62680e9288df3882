"""A made-up agent."""
