"""What is dangerous, one family of programs a file. Each knows words only; the shell was read before."""
