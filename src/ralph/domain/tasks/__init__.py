"""Tasks of ``ralph work``: what one is, what done means, its way through the roles, and what is learned from it."""
