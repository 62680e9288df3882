"""A review by fresh eyes: what a reviewer is asked, how its answer is read, and what a finding is."""
