"""Benchmarks that reproduce every figure in the README.

`python -m benchmarks` runs all parts and writes `results.json` and `results.md` beside this file. A part is a module
with a function `rows(work)` that yields `measuring.Row` values; `PARTS` in `__main__` names them.
"""
