"""What proves work: required commands and what their output says, the files that must stay as they were, the judge."""
