"""One module per kind of run: what it is asked for, how it is prepared, and the parts it is made of."""
