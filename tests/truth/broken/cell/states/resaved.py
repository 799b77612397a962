import shutil

from pyrite.suites.desk.calc_set_cell import FILES

shutil.copyfile(FILES / "q3_budget.resaved.ods", "Documents/q3_budget.ods")
