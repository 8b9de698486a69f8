"""Build S-BDT at commit 2e0776b as a package, with δ = 1e-5; run in the folder ``code`` of its repository.

Its own ``setup.py`` stays as it is. Here the C++ files go into the extension itself, without Intel's library of vector
mathematics, which makes the fits slower and changes nothing else; and δ is given, which is a macro and 5e-8 by default.
"""

from __future__ import annotations

from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCES = Path("cpp_gbdt/src")

setup(
    name="sbdt",
    version="0+2e0776b",
    py_modules=[],
    ext_modules=cythonize(
        Extension(
            "sbdt",
            [
                "sbdt.pyx",
                *sorted(map(str, SOURCES.glob("*.cpp"))),
                *sorted(map(str, SOURCES.glob("gbdt/*.cpp"))),
            ],
            language="c++",
            include_dirs=["cpp_gbdt/include", "cpp_gbdt/include/gbdt", numpy.get_include()],
            extra_compile_args=["-std=gnu++11", "-Ofast", "-march=native", "-pthread"],
            libraries=["fmt"],
            define_macros=[("DELTA", "1e-5"), ("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        ),
        language_level=3,
    ),
)
