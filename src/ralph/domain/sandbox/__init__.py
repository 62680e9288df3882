"""What a sandbox is asked for and guarantees, which hosts it reaches, and how our own git stays safe."""
