"""Built-in suites: tasks written as code."""
