"""From every source to one typed table, and from the table to figures."""
