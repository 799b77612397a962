"""What a task is, and how a folder becomes one."""
