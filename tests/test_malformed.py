"""Malformed CSV files of many kinds: each is read right, or the message names value, line and way out."""
# ruff: noqa: E501 - a case a line

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from dpnb.data.tables import read_all
from dpnb.domain.drafts import main
from dpnb.errors import DataError, DomainError

DOMAIN = """\
target: default
classes: [no, yes]
attributes:
- {name: age, continuous: [0, 120]}
- {name: sex, categorical: [f, m]}
- {name: income, continuous: [-5000, 5000]}
- {name: owner, categorical: [true, false]}
- {name: since, continuous: [2000-01-01, 2030-12-31]}
csv:
  ignore: [note]
"""
HEADER = "age,sex,income,owner,since,default\n"
ROWS = """\
30,f,1500.5,true,2020-12-31,no
41,m,2500,false,2021-01-02,yes
52,f,900.25,true,2022-03-04,no
"""
TEXT = HEADER + ROWS
RIGHT = pd.DataFrame(
    {
        "age": [30.0, 41.0, 52.0],
        "sex": ["f", "m", "f"],
        "income": [1500.5, 2500.0, 900.25],
        "owner": [True, False, True],
        "since": pd.to_datetime(["2020-12-31", "2021-01-02", "2022-03-04"]),
        "default": ["no", "yes", "no"],
    }
)


class Case(NamedTuple):
    """A file, what is said of it (None: it is read right), and more lines for the section ``csv``."""

    content: str | bytes
    told: str | None = None
    csv: str = ""


def put(old: str, new: str, text: str = TEXT) -> str:
    """The table with one part of it replaced."""
    assert text.count(old) == 1
    return text.replace(old, new)


def semicolons(text: str = TEXT) -> str:
    return text.replace(",", ";")


GERMAN = semicolons().replace("1500.5", "1.500,5").replace("900.25", "900,25")
GERMANY = '  separator: ";"\n  decimal: ","\n  thousands: "."\n'
FRENCH = semicolons().replace("1500.5", "1\u202f500,5").replace("900.25", "900,25")
FRANCE = '  separator: ";"\n  decimal: ","\n  thousands: " "\n'
SWISS = semicolons().replace("1500.5", "1’500.5")
EXTRA = TEXT.replace("default\n", "default,note\n").replace("no\n", "no,\n").replace("yes\n", "yes,\n")
UMLAUT = TEXT.replace("default\n", "default,note\n").replace("no\n", "no,Müller\n").replace("yes\n", "yes,\n")
NAMELESS = "," + TEXT.replace("\n", "\n7,").removesuffix("7,")

CASES: dict[str, Case] = {
    # Rows
    "a short row": Case(put("41,m,2500,false,2021-01-02,yes", "41,m,2500"), "line 3 has 3 cells, expected 6, as line 1 has; it reads '41,m,2500'"),
    "a long row": Case(put("2500", "2500,7"), "line 3 has 7 cells, expected 6.*in quotes"),
    "decimal commas without quotes": Case(put("900.25", "900,25"), "line 4 has 7 cells.*put cells that hold ',' in quotes, such as numbers with decimal commas"),
    "cut in the middle of a row": Case(TEXT[:-20], "line 4 has 3 cells.*was the file cut there"),
    "no end of the last line": Case(TEXT.removesuffix("\n")),
    "separators at all ends": Case(TEXT.replace("\n", ",\n")),
    "two separators at all ends": Case(TEXT.replace("\n", ",,\n")),
    "separators at the ends of rows": Case(HEADER + ROWS.replace("\n", ",\n"), "line 2 has 7 cells.*those beyond are empty: remove the separators"),
    "a separator at the end of the header": Case(HEADER.replace("\n", ",\n") + ROWS, "line 2 has 6 cells, expected 7.*line 1 ends with separators"),
    "blank lines": Case("\n\n" + TEXT.replace("\n", "\n\n")),
    "lines of spaces": Case(TEXT.replace("\n", "\n   \n")),
    "a row of separators only": Case(put("41,", ",,,,,\n41,"), r"'age' hold NaN in 1 of 4 records \(line 3\)"),
    "a total": Case(TEXT + "Total,,4900.75,,,\n", r"'age' must hold numbers, got 'Total' in 1 of 4 records \(line 5\)"),
    "a total of one cell": Case(TEXT + "Total: 3\n", "line 5 has 1 cell, expected 6.*it reads 'Total: 3'.*remove totals"),
    "a footnote": Case(TEXT + "\nSource: the registry, 2024\n", "line 6 has 2 cells.*it reads 'Source: the registry,2024'"),
    "a title": Case("Customers in 2024\n\n" + TEXT, "line 3 has 6 cells, expected 1, as line 1 has; line 1 reads 'Customers in 2024': remove titles"),
    "a title of full width": Case("Customers,,,,,\n" + TEXT, "lacks the columns 'age'.*is its first line a title"),
    "a comment above": Case("# written on 1 May, 2024\n" + TEXT, "line 2 has 6 cells.*line 1 reads '# written on 1 May,2024': remove titles and comments"),
    "a comment inside": Case(put("41,", "# half\n41,"), "line 3 has 1 cell.*it reads '# half': remove what is a comment"),
    "Excel's line": Case("sep=,\r\n" + TEXT),
    "Excel's line of another separator": Case("sep=;\n" + TEXT, r'names the separator \';\'; write `separator: ";"` under csv:'),
    "Excel's line as declared": Case("sep=;\n" + GERMAN, csv=GERMANY),
    "the header repeated": Case(TEXT + TEXT, "repeats the column names in line 5; remove it"),
    "files joined, each with its mark": Case(TEXT + "\ufeff" + TEXT, r"got '\\ufeffage' in 1 of 7 records \(line 5\)"),
    "another table below": Case(TEXT + "\nregion,count\nnorth,3\n", "line 6 has 2 cells.*further tables"),
    "another table as wide": Case(TEXT + "a,b,c,d,e,g\n1,2,3,4,5,6\n", r"'age' must hold numbers, got 'a' in 1 of 5 records \(line 5\)"),
    "a row of units": Case(HEADER + "years,,euros,,,\n" + ROWS, r"got 'years' in 1 of 4 records \(line 2\)"),
    "a row of dashes": Case(HEADER + "---,---,---,---,---,---\n" + ROWS, r"got '---' in 1 of 4 records \(line 2\)"),
    "no header": Case(ROWS, "lacks the columns 'age'.*it has '30', 'f'"),
    # Quotes
    "a lone quote in a cell": Case(put("41,m", '41,m"'), r"""unknown values in column 'sex': 1 of 3 records \(line 3\), first 'm"'"""),
    "a quote that is never closed": Case(put("41,m", '41,"m'), "a quote in line 3 is never closed; close it"),
    "a quote closed some lines later": Case(put("41,m", '41,"m').replace("52,f", '52,"f"'), "a cell in lines 3 to 4 goes on after its closing quote"),
    "letters after a closing quote": Case(put("41,m", '41,"m"x'), "a cell in line 3 goes on after its closing quote; close it before"),
    "doubled quotes": Case(put("yes,", 'yes,"he said ""no"""', EXTRA)),
    "quotes with backslashes": Case(put("yes,", r'yes,"he said \"no\""', EXTRA), "a cell in line 3 goes on after its closing quote.*double the quotes"),
    "single quotes": Case(put("41,m", "41,'m'"), r"""'sex': 1 of 3 records \(line 3\), first "'m'" """.strip()),
    "all in quotes": Case(re.sub(r"[^,\n]+", lambda m: f'"{m[0]}"', TEXT)),
    "line breaks in quotes": Case(put("yes,", 'yes,"one\ntwo\r\nthree"', EXTRA) + "x,f,1,true,2020-01-01,no,\n", r"got 'x' in 1 of 4 records \(line 7\)"),
    "a line break without quotes": Case(put("2500,", "25\n00,"), "line 3 has 3 cells.*Mend cells with a line break"),
    # Line ends and characters
    "ends of old Macs": Case(TEXT.replace("\n", "\r")),
    "mixed ends": Case(HEADER.replace("\n", "\r\n") + put("yes\n", "yes\r", ROWS)),
    "ends of Windows, twice": Case(TEXT.replace("\n", "\r\r\n")),
    "a form feed": Case(put("41,m", "41,m\f"), r"'sex': 1 of 3 records \(line 3\), first 'm\\x0c'"),
    "a line end of Unicode": Case(put("41,m", "41,m\u2028"), r"first 'm\\u2028'"),
    "a NUL": Case(put("41,m", "41,m\0"), "the character NUL in line 3; is the file damaged"),
    "a file of NULs": Case(b"\0" * 5000, "the character NUL in line 1"),
    "Ctrl-Z at the end": Case(TEXT + "\x1a", r"line 5 has 1 cell.*it reads '\\x1a'"),
    "UTF-16": Case(TEXT.encode("utf-16"), "text in UTF-16; write `encoding: utf-16`"),
    "UTF-16 as declared": Case(TEXT.encode("utf-16"), csv="  encoding: utf-16\n"),
    "UTF-16 without its mark": Case(TEXT.encode("utf-16-le"), "NUL in line 1; is the file damaged, or in UTF-16"),
    "letters of Windows": Case(UMLAUT.encode("cp1252"), "not a CSV file in UTF-8: byte 0xfc in line 2; write `encoding: cp1252`"),
    "letters of Windows as declared": Case(UMLAUT.encode("cp1252"), csv="  encoding: cp1252\n"),
    "another encoding than declared": Case(UMLAUT.replace("M", "č").encode(), "not a CSV file in CP1252: byte 0x8d in line 2; mend `encoding:`", "  encoding: cp1252\n"),
    "letters that were read wrongly": Case(put("41,m", "41,mÃ¤"), r"first 'mÃ¤'"),
    "a mark": Case("\ufeff" + TEXT),
    "two marks": Case("\ufeff\ufeff" + TEXT, r"lacks the columns 'age'; it has '\\ufeffage'.*rename"),
    # Names
    "a name twice": Case(put("sex", "age"), "more than one column 'age'; rename or remove"),
    "names with spaces and capitals": Case(put("age,sex", "Age , sex"), "lacks the columns 'age'.*rename 'Age ' to 'age'"),
    "row numbers without a name": Case(NAMELESS),
    "row numbers without a cell in the header": Case(NAMELESS.removeprefix(","), "line 2 has 7 cells, expected 6.*if row numbers have no name in the first line, write one"),
    "a target misspelt": Case(put("default", "defualt"), "'defualt'"),
    # Separators
    "semicolons": Case(semicolons(), r'separated by \';\': write `separator: ";"`'),
    "semicolons and decimal commas": Case(GERMAN, r'separated by \';\': write `separator: ";"`'),
    "tabs": Case(TEXT.replace(",", "\t"), r'separated by \'\\t\': write `separator: "\\t"`'),
    "bars": Case(TEXT.replace(",", "|"), r"separated by '\|': write `separator"),
    "tabs as declared": Case(TEXT.replace(",", "\t"), csv='  separator: "\\t"\n'),
    "spaces": Case(TEXT.replace(",", "  "), "separated by ' '"),
    "semicolons declared, commas there": Case(TEXT, r'separated by \',\': write `separator: ","`', '  separator: ";"\n'),
    # Numbers
    "Germany": Case(GERMAN, csv=GERMANY),
    "Germany without its thousands": Case(GERMAN, r"got '1.500,5' in 1 of 3 records \(line 2\).*`thousands:` under csv:", GERMANY.replace('  thousands: "."\n', "")),
    "points where commas are declared": Case(semicolons(), r"got '1500.5', '900.25' in 2 of 3 records \(lines 2, 4\).*decimal points\? The domain file says otherwise", GERMANY),
    "France": Case(FRENCH, csv=FRANCE),
    "Switzerland": Case(SWISS, csv="  separator: ';'\n  thousands: \"'\"\n"),
    "decimal commas in quotes": Case(put("900.25", '"900,25"'), r'got \'900,25\' in 1 of 3 records \(line 4\).*`decimal: ","` under csv:'),
    "thousands in quotes": Case(put("2500", '"2,500"'), r"got '2,500' in 1 of 3.*groups of three digits"),
    "thousands in quotes as declared": Case(put("2500", '"2,500"'), csv='  thousands: ","\n'),
    "groups of India": Case(put("2500", '"1,25,000.5"'), r"got '1,25,000.5' in 1 of 3 records \(line 3\).*bare numbers"),
    "a unit": Case(put("41,", "41 years,"), r"got '41 years' .*\(line 3\).*bare numbers, without units"),
    "a percent sign": Case(put("2500", "25%"), r"got '25%' .*\(line 3\).*percent signs"),
    "a currency": Case(put("2500", "$2500"), r"got '\$2500' .*\(line 3\).*currencies"),
    "a number in words": Case(put("41,", "forty-one,"), r"got 'forty-one' .*\(line 3\); convert them"),
    "brackets for a negative number": Case(put("2500", "(2500)"), r"got '\(2500\)' .*\(line 3\)"),
    "a minus behind": Case(put("2500", "2500-"), r"got '2500-' .*\(line 3\)"),
    "a minus of Unicode": Case(put("2500", "\u22122500"), r"got '\u22122500' .*\(line 3\)"),
    "spaces around numbers": Case(put("41,", " 41 ,")),
    "tabs around numbers": Case(put("41,", "\t41\t,")),
    "spaces that do not break": Case(put("41,", "\u00a041\u00a0,")),
    "a space that does not break behind a word": Case(put("41,m", "41,m\u00a0"), r"first 'm\\xa0'.*Is .* meant to be 'm'\? Spaces"),
    "digits of full width": Case(put("41,", "４１,")),
    "digits of Arabic": Case(put("41,", "٤١,")),
    "a number beyond all": Case(put("2500", "1e400"), r"'income' holds inf in 1 of 3 records \(line 3\)"),
    "infinity": Case(put("2500", "-Infinity"), r"'income' holds inf in 1 of 3 records \(line 3\)"),
    "not a number": Case(put("2500", "nan"), r"got 'nan' .*\(line 3\).*list it under csv: missing"),
    "NULL": Case(put("2500", "NULL"), r"got 'NULL' .*\(line 3\).*list it under csv: missing"),
    "an empty cell": Case(put("2500", ""), r"'income' hold NaN in 1 of 3 records \(line 3\).*csv: missing"),
    "a hexadecimal number": Case(put("41,", "0x29,"), r"got '0x29' .*\(line 3\)"),
    "a number with underscores": Case(put("2500", "2_500"), r"got '2_500' .*\(line 3\)"),
    "an exponent of Fortran": Case(put("2500", "2.5D+03"), r"got '2.5D\+03' .*\(line 3\)"),
    "zeros in front": Case(put("41,", "0041,")),
    "a plus in front": Case(put("41,", "+41,")),
    "an apostrophe of Excel": Case(put("41,", "'41,"), r"""got "'41" .*\(line 3\)"""),
    "a formula": Case(put("41,", "=40+1,"), r"got '=40\+1' .*\(line 3\)"),
    "an error of Excel": Case(put("2500", "#DIV/0!"), r"got '#DIV/0!' .*\(line 3\)"),
    "a cell too narrow for Excel": Case(put("2500", "#####"), r"got '#####' .*\(line 3\)"),
    "other words for true": Case(put("41,m,2500,false", "41,m,2500,N"), r"'owner': 1 of 3 records \(line 3\), first 'N'"),
    "0 for false": Case(put("41,m,2500,false", "41,m,2500,0")),
    "true as many write it": Case(put("30,f,1500.5,true", "30,f,1500.5,TRUE").replace("false", "False")),
    "a date of another form": Case(put("2021-01-02", "02.01.2021"), r"dates written as 2001-12-31, got '02.01.2021' .*\(line 3\)"),
    "a date that is none": Case(put("2021-01-02", "2021-02-30"), r"got '2021-02-30' .*\(line 3\)"),
    "a date as Excel counts": Case(put("2021-01-02", "44198"), r"got '44198' .*\(line 3\)"),
    "a date of two digits": Case(put("2021-01-02", "21-01-02"), r"got '21-01-02' .*\(line 3\)"),
    # Files
    "gzip": Case(gzip.compress(TEXT.encode())),
    "gzip cut short": Case(gzip.compress((HEADER + ROWS * 100).encode())[:-20], "damaged gzip file.*compress the table again"),
    "gzip with rubbish behind": Case(gzip.compress(TEXT.encode()) + b"rubbish", "damaged gzip file"),
    "gzip, twice": Case(gzip.compress(gzip.compress(TEXT.encode())), "not a CSV file.*gzip twice"),
    "bzip2": Case(bz2.compress(TEXT.encode()), "not a CSV file, but an archive; unpack it, or compress it by gzip"),
    "xz": Case(lzma.compress(TEXT.encode()), "not a CSV file, but an archive"),
    "Excel": Case(b"PK\x03\x04" + bytes(30), "an Excel file or another archive; save the table as CSV"),
    "Parquet": Case(b"PAR1" + bytes(30), "a Parquet file.*to_csv"),
    "a database": Case(b"SQLite format 3\0" + bytes(30), "a binary file; save the table as CSV"),
    "a page of a server": Case("<!DOCTYPE html>\n<html><body>404, not found</body></html>\n", "a web page.*fetch the table again"),
    "JSON": Case('[\n {"age": 30, "sex": "f"}\n]\n', "JSON; pd.read_json"),
    "JSON in lines": Case('{"age": 30, "sex": "f"}\n{"age": 41, "sex": "m"}\n', "JSON; pd.read_json"),
    "nothing": Case("", "is empty; expected a line of column names"),
    "a mark only": Case("\ufeff", "is empty; expected a line of column names"),
    "blank lines only": Case("\n\r\n\n", "is empty; expected a line of column names"),
    "names only": Case(HEADER, "holds column names only; expected a line for each record"),
    "a long cell": Case(put("yes,", f"yes,{'x' * 300_000}", EXTRA)),
    "a long cell that does not fit": Case(put("41,m", f"41,{'x' * 200_000}"), r"'sex': 1 of 3 records \(line 3\), first 'x+\.\.\."),
    "a long row that does not fit": Case(put("41,", f"41,{'x,' * 100_000}"), "line 3 has 100006 cells"),
    "many columns": Case("".join(f"{line},{tail}\n" for line, tail in zip(TEXT.split("\n")[:4], [",".join(f"c{i}" for i in range(20_000)), *[",".join("0" * 20_000)] * 3], strict=True)), "does not mention: 'c0', 'c1'"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(case: Case) -> pd.DataFrame | str:
    """The records that a fit learns from, or what is said."""
    content = case.content if isinstance(case.content, bytes) else case.content.encode()
    Path("t.csv").write_bytes(content)
    Path("d.yml").write_text(DOMAIN + case.csv, encoding="utf-8")
    try:
        return read_all(Path("t.csv"), domain=Path("d.yml"))[0]
    except (DataError, DomainError) as error:
        return str(error)


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_read_right_or_told(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[name]
    found = read(case)
    if case.told is None:
        assert isinstance(found, pd.DataFrame), found
        pd.testing.assert_frame_equal(found, RIGHT, check_index_type=False, check_dtype=False)
        assert main(["check", "d.yml", "t.csv"]) == 0
        assert capsys.readouterr().out == "all 3 records fit d.yml\n"
        return
    assert isinstance(found, str), found
    assert re.search(case.told, found, re.DOTALL), found
    assert found.startswith("t.csv")
    assert len(found) < 2000
    assert main(["check", "d.yml", "t.csv"]) == 1  # the check says the same
    said = capsys.readouterr().err.strip()
    assert said.split(":")[0].split(" ")[0] == "t.csv"
    assert re.search(case.told, said, re.DOTALL), said


def test_there_are_many() -> None:
    assert len(CASES) > 100
    assert sum(case.told is None for case in CASES.values()) > 25
    assert np.unique([str(case.content) + case.csv for case in CASES.values()]).size == len(CASES)
