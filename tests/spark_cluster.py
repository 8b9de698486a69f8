"""The cluster of the page's compose file as processes of this machine, on loopback and free ports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import psutil
import yaml
from pyspark.sql import SparkSession

FILES = Path(__file__).resolve().parent.parent / "book" / "_static" / "cluster"
WORKERS = ("worker-1", "worker-2")
JAVA = "-XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # leave no files, and start quickly
PATIENCE = 300  # seconds until something that must happen is missed
# Two names of one address: a task that is slow on a host is tried again on another one.
HERE = {"master": "127.0.0.1", "worker-1": "127.0.0.1", "worker-2": "localhost", "7077": "0", "8080": "0"}


def wait_for(happened: Callable[[], object], what: str) -> None:
    """Look until it happened; an error if it does not."""
    until = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > until:
            raise TimeoutError(f"{what}: not within {PATIENCE} seconds")
        time.sleep(0.05)


class Executor(NamedTuple):
    """What Spark knows of an executor."""

    active: bool
    tasks: int  # that ended well
    blocks: int  # that it keeps


def executors(session: SparkSession) -> dict[str, Executor]:
    """The executors that a session has or had, by their numbers."""
    context = session.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    found = context.statusStore().executorList(False)
    rows = [found.apply(i) for i in range(found.size())]
    return {
        row.id(): Executor(row.isActive(), row.completedTasks(), row.rddBlocks())
        for row in rows
        if row.id() != "driver"
    }


def family(worker: psutil.Process) -> list[psutil.Process]:
    """A worker, its executor, and the executor's Python processes."""
    return [worker, *worker.children(recursive=True)]


def executor_number(processes: list[psutil.Process]) -> str:
    """Number of the executor that is among some processes; "" if there is none."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            command = process.cmdline()
            if "--executor-id" in command:
                return command[command.index("--executor-id") + 1]
    return ""


class Cluster:
    """A master and two workers with the commands of the page, and a folder for all that they write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self.started: dict[str, subprocess.Popen[bytes]] = {}
        self.services = yaml.safe_load((FILES / "compose.yml").read_text(encoding="utf-8"))["services"]

    def __enter__(self) -> Self:
        try:
            self.start("master")
            self.start(*WORKERS)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def environment(self) -> dict[str, str]:
        """Of the processes; the folder in it tells them from others."""
        own = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder),
            "SPARK_WORKER_DIR": str(self.folder),
            "TMPDIR": str(self.folder),
            "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={self.folder} {JAVA}",
            "PYSPARK_PYTHON": sys.executable,
        }
        return {**os.environ, **self.services["master"]["environment"], **own}

    def here(self, command: list[str]) -> list[str]:
        """A command of the page, with addresses of this machine."""
        names = HERE | {
            "spark://master:7077": self.url,
            "spark.driver.host=master": "spark.driver.host=127.0.0.1",
            "fit.py": str(FILES / "fit.py"),
        }
        return [names.get(part, part) for part in command]

    def start(self, *names: str) -> None:
        """Start some services, and wait until they are ready."""
        for name in names:
            self._launch(name)
        for name in names:
            self._await(name)

    def _launch(self, name: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as written:
            self.started[name] = subprocess.Popen(
                self.here(self.services[name]["command"]),
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
            )

    def _await(self, name: str) -> None:
        process, log = self.started[name], self.folder / f"{name}.log"
        ready = (
            r"Starting Spark master at (\S+)" if name == "master" else r"Successfully registered with master"
        )

        def told() -> re.Match[str] | None:
            if process.poll() is not None:
                raise RuntimeError(f"{name} ended with {process.returncode}:\n{log.read_text()[-2000:]}")
            return re.search(ready, log.read_text())

        wait_for(told, f"{name} is ready")
        if name == "master" and (found := told()):
            self.url = found[1]

    def on(self) -> dict[str, str]:
        """The workers that live and have an executor, by its number."""
        living = [name for name in WORKERS if self.started[name].poll() is None]
        numbers = {executor_number(family(psutil.Process(self.started[name].pid))): name for name in living}
        return {number: name for number, name in numbers.items() if number}

    def kill(self, number: str) -> None:
        """Kill an executor, its worker, and its Python processes."""
        worker = self.started[self.on()[number]]
        kill_all(family(psutil.Process(worker.pid)))
        worker.wait()

    def start_dead(self) -> None:
        """Start the workers that are dead."""
        self.start(*(name for name in WORKERS if self.started[name].poll() is not None))

    def mend(self, session: SparkSession) -> None:
        """Start the workers that are dead, and wait until a session has an executor on each and no other."""
        self.start_dead()

        def whole() -> bool:
            active = {number for number, executor in executors(session).items() if executor.active}
            return len(active) == len(WORKERS) and active == set(self.on())

        wait_for(whole, "two workers with an executor each")

    def processes(self) -> list[psutil.Process]:
        """Whatever lives and was started for this cluster, known by the folder in its environment."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):  # somebody else's, or gone
                if process.environ().get("SPARK_WORKER_DIR") == str(self.folder):
                    found.append(process)
        return found

    def stop(self) -> None:
        """Kill everything that belongs to the cluster."""

        def gone() -> bool:
            kill_all(left := self.processes())
            return not left

        wait_for(gone, "all processes of the cluster are gone")
        for process in self.started.values():
            process.wait()


def kill_all(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
