"""The rules on work that is kept elsewhere: what a ticket says, whose words count, when it is ready, what it is told."""
