"""The supervised loop: its rules, its task folder and the messages on its buses."""
