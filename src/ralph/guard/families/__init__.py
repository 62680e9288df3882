"""What is dangerous: one module for each family of programs, all listed in ``catalogue``. A new rule goes into its family."""
