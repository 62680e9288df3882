"""The fleet on a real server: submitters, workers, outages, encryption; without account or internet."""
