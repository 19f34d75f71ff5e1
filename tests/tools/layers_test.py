#!/usr/bin/env python3
"""tools/check_layers.py: which includes it refuses, and why.

usage: layers_test.py
"""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parent.parent.parent / "tools/check_layers.py"


class Layers(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.root = Path(self.scratch.name)
        (self.root / "tools").mkdir()
        shutil.copy(TOOL, self.root / "tools")

    def complaints(self, **sources):
        """What is said of headers that include others: federated__state__a="federated/settings/b.hpp"."""
        headers = {name.replace("__", "/") + ".hpp": included for name, included in sources.items()}
        for name in {*headers, *headers.values()}:
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("#pragma once\n" + (f'#include "{headers[name]}"\n' if headers.get(name) else ""))
        done = subprocess.run([sys.executable, self.root / "tools/check_layers.py"], check=False, text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 1 if done.stderr else 0)
        return done.stderr

    def test_a_folder_includes_itself_and_those_of_a_lower_rank(self):
        self.assertEqual(self.complaints(federated__rounds__a="federated/state/b.hpp",
                                         federated__state__c="federated/state/b.hpp",
                                         federated__simulation__network__d="federated/simulation/e.hpp",
                                         actors__federation__f="actors/net/g.hpp",
                                         tools__cli__h="tools/runs/i.hpp"), "")

    def test_a_folder_includes_none_of_a_higher_rank(self):
        for source, included, place in (("federated__state__a", "federated/rounds/b.hpp", "federated/state"),
                                        ("federated__simulation__c", "federated/simulation/network/d.hpp",
                                         "federated/simulation"),
                                        ("actors__net__e", "actors/federation/f.hpp", "actors/net"),
                                        ("tools__sweep__g", "tools/cli/h.hpp", "tools/sweep")):
            with self.subTest(source):
                self.setUp()
                said = self.complaints(**{source: included})
                self.assertIn(f":2: {included} is above it: {place} may include", said)

    def test_a_folder_includes_none_of_its_own_rank(self):
        said = self.complaints(federated__privacy__a="federated/participation/b.hpp")
        self.assertIn("federated/participation/b.hpp is beside it: federated/privacy may include", said)

    def test_details_are_of_the_folder_that_they_are_in(self):
        self.assertEqual(self.complaints(federated__world__detail__a="federated/world/b.hpp",
                                         federated__world__c="federated/world/detail/a.hpp"), "")
        said = self.complaints(federated__world__detail__d="federated/rounds/e.hpp")
        self.assertIn("is above it: federated/world may include", said)

    def test_a_new_folder_needs_a_rank(self):
        said = self.complaints(federated__novel__a="federated/state/b.hpp")
        self.assertIn("federated/novel has no rank in tools/check_layers.py", said)

    def test_libraries_of_tools_include_what_they_are_linked_with(self):
        said = self.complaints(tools__report__a="tools/certs/b.hpp")
        self.assertIn("is above it: of tools/, report/ may include runs, compare, page", said)

    def test_a_top_folder_includes_none_above_it(self):
        said = self.complaints(base__a="models/b.hpp", wire__c="federated/experiment/private_store.hpp")
        self.assertIn("models/b.hpp is above it: base/ may include no other folder", said)
        self.assertIn("private values have no way onto the network", said)

    def test_only_folders_with_input_and_output_write_files(self):
        said = self.complaints(models__a="base/durable_file.hpp", storage__b="base/durable_file.hpp")
        self.assertEqual(said.count("base/durable_file.hpp does input and output: models/ is free of these"), 1)
        self.assertNotIn("storage/b.hpp", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
