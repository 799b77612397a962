"""Make the documents of the built-in desktop suite anew.

    python tools/make_desk_files.py

Each document is written with odfpy or openpyxl, then loaded and saved by the LibreOffice of this
machine, so that the suite starts from files of a real application. `*.resaved.*` are the good end
states saved by LibreOffice too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from odf.number import Number, NumberStyle
from odf.opendocument import OpenDocumentSpreadsheet
from odf.style import Style, TableColumnProperties, TextProperties
from odf.table import Table, TableCell, TableColumn, TableRow
from odf.text import P
from openpyxl import Workbook, load_workbook
from openpyxl.chart import BarChart, LineChart, Reference
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from pyrite.suites.desk.calc_set_cell import PARAMS
from pyrite.suites.desk.edits import open_document

FILES = Path(__file__).resolve().parents[1] / "src/pyrite/suites/desk/files"
Value = str | float | None


class Page(NamedTuple):
    """One sheet: column widths in centimetres, and rows; a text that starts with = is a formula."""

    name: str
    widths: Sequence[float]
    rows: Sequence[Sequence[Value]]
    decimals: int = 0


BLANK: list[Value] = []


def budget(name: str, title: str, months: Sequence[str], factor: float) -> Page:
    base = {
        "Rent": (7800, 7800, 7800),
        "Energy": (1130, 1090, 1240),
        "Cleaning": (640, 640, 640),
        "Insurance": (905, 905, 905),
        "Salaries": (48200, 48200, 49100),
        "Training": (1500, 0, 2250),
        "Software": (3120, 3120, 3380),
        "Hardware": (2600, 950, 1875),
        "Marketing": (5400, 4850, 6100),
        "Travel": (3900, 2750, 4200),
        "Events": (0, 1200, 3650),
        "Legal": (1450, 1450, 1450),
    }
    rows: list[list[Value]] = [[title], BLANK, BLANK, ["Item", *months, "Total"]]
    for item, amounts in base.items():
        at = len(rows) + 1
        rows.append([item, *(round(amount * factor / 10) * 10 for amount in amounts), f"=SUM(B{at}:D{at})"])
    last = len(rows)
    rows += [BLANK, ["Total", *(f"=SUM({c}5:{c}{last})" for c in "BCDE")]]
    return Page(name, (3.6, 2.6, 2.6, 2.6, 2.8), rows)


def summary(source: str, months: Sequence[str]) -> Page:
    rows: list[list[Value]] = [["Month", "Spent", "Limit"]]
    rows += [
        [month, f"={source}!{column}18", limit]
        for month, column, limit in zip(months, "BCD", (80000, 78000, 88000), strict=True)
    ]
    return Page("Summary", (3.2, 2.6, 2.6), [*rows, BLANK, ["Quarter", "=SUM(B2:B4)", "=SUM(C2:C4)"]])


def fleet(year: int, factor: float) -> list[Page]:
    vehicles = [
        ("Van 1", "AB-214-X", 41200, 1910),
        ("Van 2", "AB-215-X", 38750, 1765),
        ("Van 3", "GK-881-P", 22380, 1090),
        ("Truck 1", "BX-032-T", 61800, 5230),
        ("Truck 2", "BX-118-T", 57420, 4980),
        ("Car 1", "KL-407-S", 17640, 1140),
        ("Car 2", "KL-408-S", 19210, 1225),
        ("Car 3", "NR-556-V", 12075, 790),
        ("Trailer", "WD-901-Q", 0, 0),
    ]
    rows: list[list[Value]] = [
        [f"Vehicle costs {year}"],
        BLANK,
        ["Vehicle", "Plate", "Km", "Fuel", "Repairs", "Sum"],
    ]
    repairs = (640, 410, 980, 2150, 1875, 960, 320, 145, 260)
    for (name, plate, km, fuel), repair in zip(vehicles, repairs, strict=True):
        at = len(rows) + 1
        numbers = (round(value * factor / 5) * 5 for value in (km, fuel, repair))
        rows.append([name, plate, *numbers, f"=D{at}+E{at}"])
    rows += [BLANK, ["All", None, *(f"=SUM({c}4:{c}12)" for c in "CDEF")]]
    rates: list[list[Value]] = [["Kind", "Cents per km"], ["Van", 31], ["Truck", 58], ["Car", 23]]
    return [Page("Fleet", (2.6, 2.8, 2.4, 2.4, 2.4, 2.6), rows), Page("Rates", (2.6, 3.4), rates)]


def offices() -> list[Page]:
    rows: list[list[Value]] = [["Code", "City", "Country", "Desks"]]
    cities = [
        ("OF-01", "Lisbon", "Portugal", 24),
        ("OF-02", "Porto", "Portugal", 12),
        ("OF-03", "Madrid", "Spain", 40),
        ("OF-04", "Ghent", "Belgium", 18),
        ("OF-05", "Antwerp", "Belgium", 18),
        ("OF-06", "Cologne", "Germany", 33),
        ("OF-07", "Hamburg", "Germany", 27),
        ("OF-08", "Rotterdam", "Netherlands", 21),
        ("OF-09", "Utrecht", "Netherlands", 16),
        ("OF-10", "Aarhus", "Denmark", 14),
        ("OF-11", "Malmö", "Sweden", 20),
        ("OF-12", "Bergen", "Norway", 9),
    ]
    rows += [list(city) for city in cities]
    rows += [BLANK, BLANK, ["Desks", None, None, "=SUM(D2:D13)"]]
    contacts: list[list[Value]] = [
        ["Code", "Contact"],
        ["OF-01", "Ines Duarte"],
        ["OF-03", "Pablo Rey"],
        ["OF-08", "Joost Vink"],
    ]
    return [Page("Offices", (2.4, 3.6, 3.6, 2.2), rows), Page("Contacts", (2.4, 4.2), contacts)]


def suppliers() -> list[Page]:
    names = [
        "Paper",
        "Toner",
        "Coffee",
        "Plants",
        "Couriers",
        "Catering",
        "Security",
        "Windows",
        "Repairs",
        "Print shop",
        "Movers",
    ]
    towns = ["Porto", "Leiden", "Ghent", "Delft", "Bergen", "Lund", "Essen", "Breda", "Faro", "Vigo", "Gouda"]
    rows: list[list[Value]] = [["Service", "Town", "Since"]]
    rows += [[name, town, 2009 + at] for at, (name, town) in enumerate(zip(names, towns, strict=True))]
    return [Page("Suppliers", (3.2, 3.2, 2.2), rows)]


def headcount(year: int, shift: int) -> list[Page]:
    teams = [
        "Research",
        "Design",
        "Platform",
        "Mobile",
        "Support",
        "Sales",
        "Finance",
        "People",
        "Legal",
        "Office",
    ]

    def page(name: str, plus: int) -> Page:
        rows: list[list[Value]] = [[f"{name} {year}"], BLANK, ["Team", "January", "June", "December"]]
        for at, team in enumerate(teams):
            start = 6 + 5 * ((at * 7) % 6) + shift
            rows.append([team, start, start + plus + at % 3, start + plus + 2])
        return Page(
            name, (3.2, 2.6, 2.6, 2.8), [*rows, BLANK, ["Sum", *(f"=SUM({c}4:{c}13)" for c in "BCD")]]
        )

    return [page("Actual", 1), page("Plan", 3)]


def prices(markup: float) -> list[Page]:
    tools = [
        ("Hammer", 14.5),
        ("Saw", 19.9),
        ("Drill", 89.0),
        ("Level", 11.25),
        ("Clamp", 7.8),
        ("File", 6.4),
        ("Chisel", 9.95),
        ("Plane", 34.5),
    ]
    parts = [
        ("Screws M4", 3.2),
        ("Screws M6", 3.9),
        ("Bolts M8", 5.45),
        ("Nuts M8", 2.1),
        ("Hinges", 8.6),
        ("Brackets", 11.95),
        ("Handles", 6.75),
        ("Castors", 14.3),
        ("Rails", 22.4),
        ("Dowels", 1.85),
    ]

    def page(name: str, items: Sequence[tuple[str, float]]) -> Page:
        rows: list[list[Value]] = [["Article", "Stock", None, "Price", "Value"]]
        for at, (item, price) in enumerate(items):
            line = len(rows) + 1
            rows.append([item, 40 + 15 * (at % 5), None, round(price * markup, 2), f"=B{line}*D{line}"])
        rows += [BLANK, BLANK, ["Stock value", None, None, None, f"=SUM(E2:E{len(items) + 1})"]]
        return Page(name, (3.6, 2.2, 1.0, 2.4, 2.8), rows, 2)

    return [page("Tools", tools), page("Parts", parts)]


def roster(week: int, turn: int) -> list[Page]:
    people = ["Bruno", "Chloe", "Emil", "Farah", "Goran", "Hilde"]
    shifts = [
        "Monday early",
        "Monday late",
        "Tuesday early",
        "Tuesday late",
        "Wednesday early",
        "Wednesday late",
        "Thursday early",
        "Thursday late",
        "Friday early",
        "Friday late",
        "Saturday",
    ]
    rows: list[list[Value]] = [[f"Roster week {week}"], BLANK, BLANK, ["Shift", "Desk", "Phone"]]
    for at, shift in enumerate(shifts):
        rows.append([shift, people[(at + turn) % 6], people[(at + turn + 2) % 6]])
    hours: list[list[Value]] = [["Person", "Shifts", "Hours"]]
    hours += [
        [person, f"=COUNTIF(Roster!B5:C15,A{at})", f"=B{at}*8"] for at, person in enumerate(people, start=2)
    ]
    return [Page("Roster", (4.2, 2.8, 2.8), rows), Page("Hours", (2.8, 2.2, 2.2), hours)]


def sales(year: int, factor: float) -> list[Page]:
    rows: list[list[Value]] = [["Week", "North", "South", "Sum"]]
    for week in range(1, 13):
        at = len(rows) + 1
        north, south = (week * 37) % 90 + 10, (week * 53) % 70 + 20
        rows.append([week, round(north * factor), round(south * factor), f"=B{at}+C{at}"])
    return [
        Page("Sales", (2.2, 2.4, 2.4, 2.4), rows),
        Page("Notes", (3.0, 3.0), [["Year", year], ["Round", 1]]),
    ]


Q3 = ("July", "August", "September")
Q2 = ("April", "May", "June")
DOCUMENTS: dict[str, list[Page]] = {
    "q3_budget.ods": [budget("Q3", "Budget, third quarter", Q3, 1.0), summary("Q3", Q3)],
    "q2_budget.ods": [budget("Q2", "Budget, second quarter", Q2, 0.93), summary("Q2", Q2)],
    "vehicle_costs.xlsx": fleet(2024, 1.0),
    "vehicle_costs_2023.xlsx": fleet(2023, 0.88),
    "offices.ods": offices(),
    "suppliers.ods": suppliers(),
    "headcount.xlsx": headcount(2025, 0),
    "headcount_2024.xlsx": headcount(2024, -3),
    "price_list.ods": prices(1.0),
    "price_list_2023.ods": prices(0.94),
    "roster.xlsx": roster(32, 0),
    "roster_week31.xlsx": roster(31, 3),
    "sales.ods": sales(2024, 1.0),
    "sales_2023.ods": sales(2023, 0.9),
}


def write_ods(pages: Sequence[Page], path: Path) -> None:
    document = OpenDocumentSpreadsheet()
    bold = Style(name="bold", family="table-cell")
    bold.addElement(TextProperties(fontweight="bold"))
    document.automaticstyles.addElement(bold)
    for page in pages:
        number = NumberStyle(name=f"n{page.name}")
        number.addElement(Number(decimalplaces=page.decimals, minintegerdigits=1, grouping=True))
        document.styles.addElement(number)
        amount = Style(name=f"amount{page.name}", family="table-cell", datastylename=number)
        document.automaticstyles.addElement(amount)
        table = Table(name=page.name)
        for at, width in enumerate(page.widths):
            column = Style(name=f"c{page.name}{at}", family="table-column")
            column.addElement(TableColumnProperties(columnwidth=f"{width}cm"))
            document.automaticstyles.addElement(column)
            table.addElement(TableColumn(stylename=column))
        heading = next(at for at, row in enumerate(page.rows) if len(row) > 1)
        for at, values in enumerate(page.rows):
            row = TableRow()
            for value in values:
                row.addElement(_ods_cell(value, bold if at <= heading else None, amount))
            if not values:
                row.addElement(TableCell())
            table.addElement(row)
        document.spreadsheet.addElement(table)
    document.save(str(path))


def _ods_cell(value: Value, heading: Style | None, amount: Style) -> TableCell:
    if value is None:
        return TableCell()
    if isinstance(value, int | float):
        return TableCell(valuetype="float", value=str(value), stylename=amount)
    if value.startswith("="):
        inside = re.sub(r"(?:([A-Za-z0-9]+)!)?([A-Z]+[0-9]+)(?::([A-Z]+[0-9]+))?", _ods_reference, value)
        return TableCell(formula=f"of:{inside.replace(',', ';')}", valuetype="float", stylename=amount)
    cell = TableCell(valuetype="string", **({"stylename": heading} if heading else {}))
    cell.addElement(P(text=value))
    return cell


def _ods_reference(match: re.Match[str]) -> str:
    sheet, start, end = match.groups()
    first = f"${sheet}.{start}" if sheet else f".{start}"
    return f"[{first}:.{end}]" if end else f"[{first}]"


def write_xlsx(pages: Sequence[Page], path: Path) -> None:
    book = Workbook()
    book.remove(book[book.sheetnames[0]])
    for page in pages:
        sheet = book.create_sheet(page.name)
        heading = next(at for at, row in enumerate(page.rows) if len(row) > 1)
        for at, width in enumerate(page.widths, start=1):
            sheet.column_dimensions[get_column_letter(at)].width = width * 4.2
        for row, values in enumerate(page.rows, start=1):
            for column, value in enumerate(values, start=1):
                if value is None:
                    continue
                cell = sheet.cell(row, column, value)
                if row <= heading + 1:
                    cell.font = Font(bold=True)
                elif not isinstance(value, str) or value.startswith("="):
                    cell.number_format = "#,##0.00" if page.decimals else "#,##0"
    book.save(path)


CHARTS = {"sales.ods": 48}
"""Document -> how many charts of its first sheet it holds: each is drawn anew when it is saved, so that
LibreOffice takes longer over it than the half second that verifiers like to sleep."""


def add_charts(path: Path, count: int) -> None:
    """Put charts of the first sheet's columns on a sheet of their own."""
    book = load_workbook(path)
    data = book[book.sheetnames[0]]
    sheet = book.create_sheet("Charts")
    for at in range(count):
        chart = LineChart() if at % 2 else BarChart()
        chart.title, chart.width, chart.height = f"Part {at + 1}", 8, 4
        chart.add_data(Reference(data, min_col=2, max_col=4, min_row=1, max_row=13), titles_from_data=True)
        sheet.add_chart(chart, f"{'AGMSY'[at % 5]}{1 + at // 5 * 10}")
    book.save(path)


def resave(source: Path, target: Path, profile: Path) -> None:
    """Load and save by LibreOffice without a window."""
    ending = target.suffix[1:]
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(
            [
                "soffice",
                f"-env:UserInstallation=file://{profile}",
                "--headless",
                "--convert-to",
                ending,
                "--outdir",
                out,
                str(source),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        shutil.copyfile(Path(out) / f"{source.stem}.{ending}", target)


def main() -> None:
    FILES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name, pages in DOCUMENTS.items():
            source = (work / name).with_suffix(".xlsx") if name in CHARTS else work / name
            (write_ods if source.suffix == ".ods" else write_xlsx)(pages, source)
            if name in CHARTS:
                add_charts(source, CHARTS[name])
            resave(source, FILES / name, work / "profile")
            print(f"{name}: {(FILES / name).stat().st_size} bytes")
        for params in PARAMS.values():
            good = work / params.file
            document = open_document(FILES / params.file)
            document.put(params.sheet, params.cell, params.value)
            document.save(good)
            resave(good, FILES / params.resaved, work / "profile")
            print(f"{params.resaved}: {(FILES / params.resaved).stat().st_size} bytes")


if __name__ == "__main__":
    main()
