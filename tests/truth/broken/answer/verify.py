"""A sound verifier of a written answer."""

import json
import sys
from pathlib import Path

home = Path(sys.argv[1]) / "Documents"
total, prices = home / "total.txt", home / "prices.csv"
answer = total.read_text().strip() if total.is_file() else ""
untouched = prices.is_file() and prices.read_text() == Path("prices.csv").read_text()
passed = answer == "42.50" and untouched and len(list(home.iterdir())) == 2
print(json.dumps({"pass": passed, "category": None, "diagnostics": {"expected": "42.50"}}))
