"""Records door on Apache Spark, with the counts of :mod:`dpnb.records.memory` from a table larger than a machine.

The table is encoded once, into blocks of many records that Spark keeps. A question takes one pass over the blocks. Each
task answers it for its blocks with the in-memory door, and the tables of whole numbers are added up. Sums of whole
numbers do not depend on their order, so the same seed gives the same model, bit for bit.
"""

import warnings

try:
    from .predict import predict
    from .session import check_java, local_session
    from .table import SparkTable
except ImportError as error:
    way_out = "pip install '.[spark]' in the project's folder"
    raise ImportError(f"dpnb.spark needs Spark ({error}); install it with: {way_out}") from error

__all__ = ["SparkTable", "check_java", "local_session", "predict"]

# It works with pandas 3 as far as it is used here; the warning would stand in every notebook.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
