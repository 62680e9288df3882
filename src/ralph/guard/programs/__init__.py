"""Programs that run others or read code: how each finds in its words what it would run. One row in ``handlers`` each."""
