"""`python -m tests.benchmarks [NAME …]`: runs the benchmarks and prints one table."""

import importlib
import platform
import sqlite3
import sys
from pathlib import Path

from tests.benchmarks.table import Row, lines

HERE = Path(__file__).parent


def main() -> int:
    """Run all benchmarks, or those named; exit with 1 when a figure is over its limit."""
    names = sorted(path.stem for path in HERE.glob("bench_*.py"))
    wanted = [n for n in names if not sys.argv[1:] or any(word in n for word in sys.argv[1:])]
    rows: list[Row] = []
    for name in wanted:
        print(f"… {name}", file=sys.stderr, flush=True)
        rows += importlib.import_module(f"tests.benchmarks.{name}").run()
    print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {platform.machine()}\n")
    print("\n".join(lines(rows)))
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
