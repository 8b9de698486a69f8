"""Train a booster and a forest on a Spark cluster, and compare them with those trained in memory."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import SparkSession

from dpnb import PrivateBooster, load
from dpnb.papers.edprf import EDPRF
from dpnb.spark import SparkTable


def document(model: Any) -> str:
    """Everything that a model releases."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.release(path)
        return path.read_text(encoding="utf-8")


spark = SparkSession.builder.appName("dpnb").getOrCreate()
data = load("adult-standin")
X, y = data.train
with SparkTable.from_pandas(spark, X, y, domain=data.domain) as table:
    # Fixed seeds, to compare; a model for release gets none.
    for model in (PrivateBooster(random_state=0), EDPRF(random_state=0)):
        through_spark = document(model.fit(table))
        in_memory = document(model.set_params(domain=data.domain).fit(X, y))
        print(f"{type(model).__name__}: the same as in memory: {through_spark == in_memory}", flush=True)
spark.stop()
