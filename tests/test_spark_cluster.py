"""A cluster that loses workers and tries tasks twice gives the model that is trained in memory, bit for bit."""

from __future__ import annotations

import pickle
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

pytest.importorskip("pyspark")

import psutil
import pyarrow as pa
from pyspark import TaskContext, cloudpickle
from pyspark.sql import SparkSession

import spark_cluster
from dpnb import PrivateBooster
from dpnb.papers.edprf import EDPRF
from dpnb.records.memory import Records
from dpnb.spark import SparkTable, blocks
from spark_cluster import (
    FILES,
    JAVA,
    WORKERS,
    Cluster,
    Executor,
    executor_number,
    executors,
    family,
    kill_all,
    wait_for,
)
from spark_models import parts_of, table_of, three_classes

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]

PARTS = 4
TO_SEND = (sys.modules[__name__], spark_cluster)  # modules that the executors cannot import
# A pass for the roots of all trees, then two for each tree; it releases the counts of its leaves.
FOREST = partial(EDPRF, n_trees=3, max_depth=2, stop="depth", random_state=3)
BOOSTER = partial(PrivateBooster, n_rounds=4, random_state=3)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with TemporaryDirectory() as folder, Cluster(Path(folder)) as found:
        yield found
        stop_session()


def stop_session() -> None:
    if running := SparkSession.getActiveSession():
        running.stop()


@pytest.fixture
def session(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """A session with two workers that live, and on each an executor whose Python runs."""
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": JAVA,
        "spark.executor.memory": "512m",
        "spark.local.dir": str(cluster.folder),
        "spark.speculation": "true",
        "spark.locality.wait": "0",  # every free executor gets a task
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.liveUpdate.period": "0",  # counts of tasks are told at once
        "spark.shuffle.io.retryWait": "100ms",  # the dead do not answer later
    }
    for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, cluster.environment[name])
    found = SparkSession.builder.master(cluster.url).config(map=conf).getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    cluster.mend(found)
    for module in TO_SEND:
        cloudpickle.register_pickle_by_value(module)
    together = found.range(len(WORKERS)).repartition(len(WORKERS))
    together.mapInArrow(awake, "id long", barrier=True).collect()
    yield found
    for module in TO_SEND:
        cloudpickle.unregister_pickle_by_value(module)


def awake(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Load what a task needs; tasks of a barrier run side by side, on all executors."""
    import dpnb.spark.blocks  # noqa: F401

    yield from batches


@pytest.fixture
def records() -> Records:
    X, y, domain = three_classes()
    return Records(X, y, domain=domain)


def spark_table(session: SparkSession, again: Any = None) -> SparkTable:
    """The records of :func:`records` in Spark; ``again`` is what they pass through whenever they are computed."""
    X, y, domain = three_classes()
    frame = table_of(session, X, y, parts=PARTS)
    return SparkTable(frame if again is None else frame.mapInArrow(again, frame.schema), domain, key="id")


def in_pass(patch: pytest.MonkeyPatch, number: int, within: Callable[[Callable[[], Any]], Any]) -> None:
    """Let a pass of the coming fit, counted from 1, be made by ``within``, which is given the ordinary one."""
    run, begun = blocks.Encoding.run, []

    def counted(self: blocks.Encoding, task: blocks.Task, **keys: bool) -> blocks.Counted:
        begun.append(task)
        one_pass = partial(run, self, task, **keys)
        return within(one_pass) if len(begun) == number else one_pass()

    patch.setattr(blocks.Encoding, "run", counted)


# --- A worker dies between two passes -------------------------------------------------------------------------


class Loss(NamedTuple):
    """An executor, and what Spark knew of all when the fit began, in its middle, and at its end."""

    number: str
    before: dict[str, Executor]
    then: dict[str, Executor]
    after: dict[str, Executor]


def lost_at_work(loss: Loss) -> bool:
    """Whether an executor did tasks of this fit and kept blocks, was gone at the end, and another one went on."""
    number, before, then, after = loss
    worked = then[number].tasks > before[number].tasks and then[number].blocks > 0
    others = [n for n in after if n != number and after[n].active]
    return worked and not after[number].active and any(after[n].tasks > then[n].tasks for n in others)


def fit_with_a_loss(
    make: Callable[..., Any], table: SparkTable, session: SparkSession, deed: Callable[[str], object]
) -> tuple[Any, Loss]:
    """Fit a model, and between its second and its third pass do something to the executor that did most."""
    before, seen = executors(session), []

    def within(one_pass: Callable[[], Any]) -> Any:
        then = executors(session)
        number = max(then, key=lambda n: then[n].active * then[n].blocks)
        seen.extend((number, before, then))
        deed(number)
        return one_pass()

    with pytest.MonkeyPatch.context() as patch:
        in_pass(patch, 3, within)
        model = make().fit(table)
    return model, Loss(*seen, executors(session))


def test_a_worker_dies_between_two_passes(cluster: Cluster, session: SparkSession, records: Records) -> None:
    with spark_table(session) as table:
        model, loss = fit_with_a_loss(BOOSTER, table, session, cluster.kill)
    assert lost_at_work(loss)
    assert parts_of(model) == parts_of(BOOSTER().fit(records))


class ForgetsLater:
    """A frame that gives other rows as soon as a file is there: half of each batch is gone."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(len(batch) // 2) if self.mark.exists() else batch


@pytest.mark.parametrize("killed", [False, True], ids=["nobody dies", "a worker dies"])
def test_the_comparison_notices(
    killed: bool, cluster: Cluster, session: SparkSession, records: Records, tmp_path: Path
) -> None:
    """Broken twins: a loss that did not happen is seen, and so are rows that change when they are computed again."""
    mark = tmp_path / "other rows"

    def deed(number: str) -> None:
        mark.touch()
        if killed:
            cluster.kill(number)

    with spark_table(session, ForgetsLater(mark)) as table:
        model, loss = fit_with_a_loss(FOREST, table, session, deed)
    assert lost_at_work(loss) == killed
    same = parts_of(model) == parts_of(FOREST().fit(records))
    assert same != killed


# --- A task is tried twice, and both attempts count -----------------------------------------------------------


class Written:
    """Counts as the package does, but each attempt of a task also writes its counts into a folder when it has them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self, batches: Iterable[pa.RecordBatch], *, task: blocks.Task, encoder: blocks.Encoder
    ) -> Iterator[pa.RecordBatch]:
        counted = list(blocks._count_blocks(batches, task=task, encoder=encoder))
        context = TaskContext.get()
        assert context is not None
        part, attempt = context.partitionId(), context.taskAttemptId()
        write_whole(self.folder / f"{part}-{attempt}", pickle.dumps([batch.to_pydict() for batch in counted]))
        self.then(part)
        yield from counted

    def then(self, part: int) -> None:
        """Do what happens before the counts are handed over."""

    def attempts(self, part: int | str = "*") -> list[Path]:
        """Files of the attempts that have counted a partition, or any."""
        return sorted(self.folder.glob(f"{part}-*"))

    def sum(self) -> blocks.Counted:
        """What a package would count that believed its tasks' files."""
        batches = (batch for path in self.attempts() for batch in pickle.loads(path.read_bytes()))
        return blocks.add_up(
            part for batch in batches for part in blocks.counted_parts(pa.RecordBatch.from_pydict(batch))
        )


def write_whole(path: Path, content: bytes) -> None:
    draft = path.with_name(f"draft of {path.name}")
    draft.write_bytes(content)
    draft.rename(path)


class Dies(Written):
    """The first task of the second partition takes its executor and its worker along."""

    def then(self, part: int) -> None:
        me, note = psutil.Process(), self.folder / "dead"
        if part != 1 or note.exists():
            return
        note.touch(exist_ok=False)  # of two attempts at once, only one gets on
        worker = next(p for p in me.parents() if "org.apache.spark.deploy.worker.Worker" in p.cmdline())
        condemned = family(worker)
        note.write_text(executor_number(condemned))
        kill_all([process for process in condemned if process != me])
        me.kill()


class WaitsForAnother(Written):
    """A task of the first partition ends when two attempts of it have counted."""

    def then(self, part: int) -> None:
        if part != 0:
            return
        try:
            wait_for(lambda: len(self.attempts(part)) > 1, "a second attempt of the task")
        except TimeoutError:  # it will be tried again for this failure, not for being slow
            (self.folder / "in vain").touch()
            raise


def check_counted_once(session: SparkSession, records: Records, counting: Written, *, part: int) -> None:
    """Check a model whose fifth pass is made by ``counting``, and that a task of that pass was tried again."""

    def within(one_pass: Callable[[], Any]) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocks, "_count_blocks", counting)
            return one_pass()

    def same(fifth: Callable[[Callable[[], Any]], Any]) -> bool:
        with spark_table(session) as table, pytest.MonkeyPatch.context() as patch:
            in_pass(patch, 5, fifth)
            return parts_of(FOREST().fit(table)) == parts_of(FOREST().fit(records))

    assert same(within)
    assert len(counting.attempts(part)) > 1
    assert not same(lambda _: counting.sum())  # broken twin: what was written is believed


def test_a_slow_task_is_run_twice(session: SparkSession, records: Records, tmp_path: Path) -> None:
    check_counted_once(session, records, WaitsForAnother(tmp_path), part=0)
    assert not (tmp_path / "in vain").exists()


def test_a_worker_dies_in_the_middle_of_a_pass(
    session: SparkSession, records: Records, tmp_path: Path
) -> None:
    before = executors(session)
    check_counted_once(session, records, Dies(tmp_path), part=1)
    number, after = (tmp_path / "dead").read_text(), executors(session)
    assert after[number].tasks > before[number].tasks
    assert not after[number].active


# --- The page and the cluster itself --------------------------------------------------------------------------


def page_command() -> list[str]:
    """What the page says to type for a fit, without the words for Docker."""
    docker = "docker compose exec master "
    text = (FILES.parent.parent / "cluster.md").read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if line.startswith(docker))
    return shlex.split(line.removeprefix(docker))


def test_the_fit_of_the_page(cluster: Cluster) -> None:
    stop_session()  # a worker has a core for one driver
    cluster.start_dead()
    run = subprocess.run(
        cluster.here(page_command()),
        env=cluster.environment,
        cwd=cluster.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    said = [f"{name}: the same as in memory: True" for name in ("PrivateBooster", "EDPRF")]
    assert run.stdout.splitlines() == said


def test_nothing_is_left_of_a_cluster_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, seen = Cluster(tmp_path), []
    cluster.services["worker-1"]["command"] = ["false"]
    monkeypatch.setattr(cluster, "stop", lambda: (seen.extend(cluster.processes()), Cluster.stop(cluster)))
    with pytest.raises(RuntimeError, match="worker-1 ended with 1"), cluster:
        pass
    assert len(seen) >= 2  # broken twin: before the end there were some
    assert cluster.processes() == []
