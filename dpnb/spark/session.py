"""A quiet Spark session on this machine, and the Java that it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import SparkSession

from ..errors import DataError

JAVA = 17  # Spark 4 runs on this Java or a later one


def check_java() -> int:
    """Major version of the Java that Spark will start.

    Raises
    ------
    DataError
        If there is none, or one older than Java 17.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    way_out = (
        f"install Java {JAVA} or later (Debian, Ubuntu: openjdk-{JAVA}-jre-headless; conda: openjdk={JAVA})"
    )
    if java is None or not Path(java).exists():
        where = (
            f"JAVA_HOME={home} holds no bin/java" if home else "there is no 'java' on PATH and no JAVA_HOME"
        )
        raise DataError(f"Spark needs Java, but {where}; {way_out}")
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', printed.stderr + printed.stdout)
    if found is None:
        raise DataError(f"{java} -version says {(printed.stderr + printed.stdout).strip()!r}; {way_out}")
    if int(found[1]) < JAVA:
        raise DataError(f"{java} is Java {found[1]}, but Spark needs Java {JAVA} or later; {way_out}")
    return int(found[1])


@contextmanager
def in_words(doing: str = "compute the table") -> Iterator[None]:
    """Say in a sentence what Spark says in a stack of a hundred lines; of Python's own errors, the stack is kept."""
    try:
        yield
    except (ConnectionError, Py4JNetworkError):
        raise DataError(
            "Java, in which Spark runs, has ended, perhaps for lack of memory: start Python again, with more of it, "
            "local_session(memory='8g') or so"
        ) from None
    except PythonException as error:  # raised by a function of the user's in Spark, and not long
        raise DataError(f"Spark could not {doing}: {_lines(error)[-1]}") from error
    except (PySparkException, Py4JError) as error:
        if re.search("SESSION_OR_CONTEXT_NOT_EXISTS|stopped SparkContext", str(error)):
            raise DataError(
                "the session of this Spark table was stopped: start one, such as local_session(), and read the table "
                "again"
            ) from None
        causes = re.findall(r"^Caused by: (.*)", str(error), re.MULTILINE)
        why = causes[-1] if causes else _lines(error)[0]
        raise DataError(
            f"Spark could not {doing}: {why[:300]}; try without dpnb: frame.write.format('noop').mode('append').save()"
        ) from None


def _lines(error: Exception) -> list[str]:
    """What an error says, without the lines of stacks, which are indented."""
    lines = [line.lstrip(": ") for line in str(error).splitlines() if line and not line[0].isspace()]
    return [line for line in lines if not line.startswith("An error occurred while")] or [
        "it gives no reason"
    ]


@in_words("start")
def local_session(*, cores: int | str = "*", memory: str = "2g", **conf: str) -> SparkSession:
    """A quiet Spark session on this machine only, or the session that is running already, unchanged.

    Parameters
    ----------
    cores : number of threads, ``"*"`` for all. A task is tried four times.
    memory : memory of the Java process, such as ``"2g"`` or ``"512m"``.
    conf : further settings, with ``__`` for a dot in their names, such as ``spark__local__dir="/scratch"``.

    Raises
    ------
    DataError If there is no Java that Spark can use. TypeError, ValueError For an argument that Spark would not
    understand or would ignore.
    """
    if cores != "*" and (isinstance(cores, bool) or not re.fullmatch("[1-9][0-9]*", str(cores))):
        raise ValueError(f"cores={cores!r}: expected a number of threads of at least 1, or '*' for all")
    if not isinstance(memory, str) or not re.fullmatch("[1-9][0-9]*[kmgt]", memory.lower()):
        raise ValueError(f"memory={memory!r}: expected a number and a unit, such as '2g' or '512m'")
    if strange := [name for name in conf if not name.startswith("spark__")]:
        raise TypeError(
            f"local_session has no option {strange[0]!r}; there are cores, memory, and Spark's settings, such as "
            "spark__local__dir for spark.local.dir"
        )
    check_java()
    if running := SparkSession.getActiveSession():
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the workers may miss this environment
    os.environ.setdefault(
        "SPARK_LOCAL_IP", "127.0.0.1"
    )  # else Java looks up the host's name, which may have none
    builder = SparkSession.builder.master(f"local[{cores},4]").appName("dpnb")
    settings = {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in (settings | {k.replace("__", "."): v for k, v in conf.items()}).items():
        builder = builder.config(name, value)
    with _silent_stderr():
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
    return session


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Silence Java, which writes past Python to file descriptor 2; if it does not start, its output is shown."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as written:
        os.dup2(written.fileno(), 2)
        try:
            yield
        except Exception:
            written.seek(0)
            os.write(kept, written.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)
