"""The exact scan says what the products of all vectors say."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from commonplace.embed.vector_space import VectorScan

ROWS, DIMENSION = 3000, 48


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    return np.random.default_rng(3).integers(-127, 128, (ROWS, DIMENSION)).astype(np.int8)


@pytest.fixture
def scan(codes: np.ndarray) -> VectorScan:
    made = VectorScan(DIMENSION)
    for part in np.array_split(codes, 3):
        made.add(part)
    return made


def question_of(codes: np.ndarray) -> np.ndarray:
    return codes[77].astype(np.float32) / 10_000


def test_the_highest_products_come_first(scan: VectorScan, codes: np.ndarray) -> None:
    question = question_of(codes)
    rows, products = scan.best(question, 20, None)
    exact = codes.astype(np.float32) @ question
    assert rows[0] == 77
    assert products.tolist() == sorted(products.tolist(), reverse=True)
    assert np.allclose(products, exact[rows], rtol=1e-5)
    assert set(rows.tolist()) == set(np.argsort(-exact)[:20].tolist())


def test_rows_that_are_not_meant_are_never_found(scan: VectorScan, codes: np.ndarray) -> None:
    among = np.zeros(ROWS, np.bool_)
    among[[5, 9, 2999]] = True
    rows, _ = scan.best(question_of(codes), 20, among)
    assert set(rows.tolist()) == {5, 9, 2999}
    assert scan.best(question_of(codes), 20, np.zeros(ROWS, np.bool_))[0].tolist() == []


def test_asking_for_more_than_there_are_gives_all(scan: VectorScan, codes: np.ndarray) -> None:
    assert len(scan.best(question_of(codes), 2 * ROWS, None)[0]) == ROWS


def test_the_products_of_chosen_rows_are_exact(scan: VectorScan, codes: np.ndarray) -> None:
    rows = np.array([9, 3, 77], np.int64)
    assert np.allclose(
        scan.of(question_of(codes), rows), codes[rows].astype(np.float32) @ question_of(codes), rtol=1e-5
    )


BESIDE = """
import threading
import numpy as np
from commonplace.embed.vector_space import VectorScan

codes = np.random.default_rng(3).integers(-127, 128, (64, 384)).astype(np.int8)
question = codes[7].astype(np.float32) / 10_000
exact = codes.astype(np.float32) @ question
scan, wrong, added = VectorScan(384), [], threading.Event()
scan.add(codes)

def ask():
    while not added.is_set():
        rows, products = scan.best(question, 50, None)
        wrong.extend([] if np.allclose(products, exact[rows % 64], rtol=1e-4) else [rows])

threads = [threading.Thread(target=ask) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(600):
    scan.add(codes)
added.set()
for thread in threads:
    thread.join()
raise SystemExit(len(wrong))
"""
"""Queries of three threads while rows are added: faiss reads codes that it has moved, which ends the process."""


def test_rows_are_added_beside_queries() -> None:
    done = subprocess.run([sys.executable, "-c", BESIDE], check=False)
    assert done.returncode == 0
