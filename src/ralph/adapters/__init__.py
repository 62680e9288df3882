"""The world: what implements the ports of the engine, one folder per port, on the shared ground of the files here."""
