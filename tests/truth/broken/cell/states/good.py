from pathlib import Path

from pyrite.suites.desk.edits import open_document

document = open_document(Path("Documents/q3_budget.ods"))
document.put("Q3", "D14", 4500.0)
document.save(Path("Documents/q3_budget.ods"))
