"""Initial homes of the files and terminal tasks: full of names that look alike. Path -> file in `files`."""

from __future__ import annotations

REPORTS = {
    "Documents/Reports/report_2023.txt": "texts/report_2023.txt",
    "Documents/Reports/report_2024.txt": "texts/report_2024.txt",
    "Documents/Reports/report_2024_draft.txt": "texts/report_2024_draft.txt",
    "Documents/Reports/report_2024_old.txt": "texts/report_2024_old.txt",
    "Documents/Archive/report_2022.txt": "texts/report_2022.txt",
    "Documents/Archive old/report_2020.txt": "texts/report_2020.txt",
}
INVOICES = {
    "Documents/Invoices/invoice_1041.csv": "texts/invoice_1041.csv",
    "Documents/Invoices/invoice_1042.csv": "texts/invoice_1042.csv",
    "Documents/Invoices/invoice_1042_copy.csv": "texts/invoice_1042_copy.csv",
    "Documents/Invoices/invoice_1402.csv": "texts/invoice_1402.csv",
    "Documents/Paid/invoice_1040.csv": "texts/invoice_1040.csv",
    "Documents/Paid 2023/invoice_0977.csv": "texts/invoice_0977.csv",
}
PROJECTS = {
    "Projects/garden/plan.md": "texts/garden_plan.md",
    "Projects/garden/notes.md": "texts/garden_notes.md",
    "Projects/garden/plants.txt": "texts/garden_plants.txt",
    "Projects/garden-old/plan.md": "texts/garden_old_plan.md",
    "Projects/garden-old/notes.md": "texts/garden_old_notes.md",
    "Projects/house/plan.md": "texts/house_plan.md",
}
TOOLS = {
    "Tools/backup.sh": "texts/backup.sh",
    "Tools/backup_db.sh": "texts/backup_db.sh",
    "Tools/cleanup.sh": "texts/cleanup.sh",
    "Tools/README.txt": "texts/tools_readme.txt",
    "Tools/old/backup.sh": "texts/backup_old.sh",
}
LOGS = {
    "Logs/access_march.log": "texts/access_march.log",
    "Logs/access_april.log": "texts/access_april.log",
    "Lists/members_north.csv": "texts/members_north.csv",
    "Lists/members_south.csv": "texts/members_south.csv",
    "Lists/words_raw.txt": "texts/words_raw.txt",
    "Lists/words_new.txt": "texts/words_new.txt",
}
SETTINGS = {
    ".profile": "texts/profile",
    "Shop/.env": "texts/env_production",
    "Shop/staging/.env": "texts/env_staging",
    "Cron/evening.cron": "texts/evening.cron",
    "Cron/weekend.cron": "texts/weekend.cron",
    "Network/hosts.lab": "texts/hosts.lab",
    "Network/hosts.office": "texts/hosts.office",
}
LAYOUTS = {
    "reports": REPORTS,
    "invoices": INVOICES,
    "projects": PROJECTS,
    "tools": TOOLS,
    "logs": LOGS,
    "settings": SETTINGS,
}
