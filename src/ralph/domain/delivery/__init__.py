"""A branch on its way to its base through a pull request: what is known of it, what happens next, what is written there."""
