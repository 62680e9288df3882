"""Delivery against a real forge: pull requests, checks, reviews and merges, without account or internet."""
