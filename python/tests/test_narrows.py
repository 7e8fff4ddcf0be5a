"""With the real program, named by NARROWS."""

import importlib.util
import json
import tempfile
import unittest
from pathlib import Path

import narrows

#: What iperf3 prints of a run, as far as narrows reads it.
IPERF3 = {
    "start": {
        "version": "iperf 3.12",
        "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131072, "reverse": 0},
    },
    "intervals": [],
}
RATES = [10e9, 10.1e9, 10.2e9, 9.9e9, 10.05e9, 9.95e9]


def study(folder):
    """A study of six imported runs at a level of a factor."""
    files = []
    for at, rate in enumerate(RATES):
        file = Path(folder) / f"{at}.json"
        end = {"sum_received": {"bits_per_second": rate}}
        file.write_text(json.dumps({**IPERF3, "end": end}))
        files.append(str(file))
    to = Path(folder) / "study.narrows"
    words = ["import", *files, "-o", str(to), "--at", "dimms=4"]
    narrows._said(words, None, (0,))
    return to


class OfAStudy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.study = study(self.folder.name)

    def test_a_run_is_a_row_with_its_factors(self):
        rows = narrows.rows(self.study)
        self.assertEqual([row["value"] for row in rows], RATES)
        self.assertEqual({row["factor_dimms"] for row in rows}, {"4"})
        self.assertEqual({row["unit"] for row in rows}, {"bit/s"})
        self.assertIsNone(rows[0]["lost_datagrams"])
        self.assertEqual(rows[0]["file"], str(self.study))

    def test_files_are_put_one_below_the_other(self):
        self.assertEqual(len(narrows.rows(self.study, self.study)), 2 * len(RATES))

    def test_a_median_has_the_interval_that_narrows_gives(self):
        (cell,) = narrows.medians(self.study)
        self.assertEqual(cell["median"], 10.025e9)
        self.assertEqual((cell["low"], cell["high"], cell["n"]), (9.9e9, 10.2e9, 6))
        self.assertEqual((cell["unit"], cell["factor_dimms"]), ("bit/s", "4"))

    def test_what_is_no_study_is_refused_with_its_hint(self):
        with self.assertRaises(narrows.Failed) as caught:
            narrows.rows(Path(self.folder.name) / "none.narrows")
        self.assertEqual(caught.exception.code, 2)
        self.assertIn("none.narrows", caught.exception.message)
        self.assertIsNotNone(caught.exception.hint)

    def test_a_program_that_is_not_there_is_named(self):
        with self.assertRaises(narrows.Failed) as caught:
            narrows.rows(self.study, program="/nowhere/narrows")
        self.assertIn("/nowhere/narrows: No such file", caught.exception.message)
        self.assertIn("program=", caught.exception.hint)

    def test_a_measurement_is_its_document(self):
        words = ["mem", "-k", "read", "-t", "0.1", "--repeats", "2", "--out", self.folder.name]
        document = narrows.measure(*words)
        self.assertTrue(all(one["kind"] == "memory-read" for one in document["results"]))
        self.assertGreater(document["results"][0]["estimate"]["value"], 0)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not there")
    def test_a_table_has_numbers_and_times(self):
        table = narrows.read(self.study)
        self.assertEqual(table["value"].median(), 10.025e9)
        self.assertEqual(str(table["began"].dt.tz), "UTC")
        self.assertEqual(list(table.groupby("factor_dimms").size()), [len(RATES)])

    @unittest.skipUnless(
        importlib.util.find_spec("pandas") and importlib.util.find_spec("matplotlib"),
        "pandas or matplotlib is not there",
    )
    def test_the_notebook_runs(self):
        import os

        os.environ["STUDY"] = str(self.study)
        os.environ["MPLBACKEND"] = "Agg"
        self.addCleanup(os.environ.pop, "STUDY")
        notebook = json.loads((Path(__file__).parents[1] / "example.ipynb").read_text())
        told = {}
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), told)
        self.assertEqual(len(told["figure"].axes), 1)


if __name__ == "__main__":
    unittest.main()
