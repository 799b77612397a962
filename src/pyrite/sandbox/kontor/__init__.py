"""Kontor, a small web application with a database: orders, customers and tickets of a shop.

It runs inside the desktop's sandbox on Debian's Python alone, and holds nothing of any task: what a task
starts from is in its database, `Kontor/kontor.db` in the home. Modules here import the standard library
and each other only; `apps` hands them in as one archive.
"""
