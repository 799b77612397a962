"""Two budgets and some notes, as the desktop suite ships them."""

import shutil
from pathlib import Path

from pyrite.suites.desk.calc_set_cell import FILES

Path("Documents").mkdir()
for name in ("q3_budget.ods", "q2_budget.ods", "notes.txt"):
    shutil.copyfile(FILES / name, Path("Documents") / name)
