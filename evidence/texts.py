"""README.txt and VERIFY.txt of a bundle: what a reader without the product needs, in 80 columns."""

from __future__ import annotations

README = """\
EVIDENCE BUNDLE

What was seen, done and concluded during one incident on a GPU cluster, with
the outputs it stands on. Nothing here needs a special program: JSON, text and
gzip alone.

Begin with
  data/case.json        what is wrong, how sure, and the ids of the evidence;
                        under "evidence" each id says where to look
  data/raw/NODE/        what commands printed, verbatim, with their times
  data/inventory.json   parts as found: serial, part number, firmware, slot
  data/coverage.json    what was asked of which node and what came back; what
                        failed or was not there stands here too
  data/topology.json    parts and wires
  data/journal.jsonl    everything that was learned or done, in order
  data/recording/       counters and readings once a second: idx.jsonl says
                        where in seg-000.bin each minute of each node is; a
                        chunk is gzip, its first line names times, its other
                        lines are the columns of the schema it names (the
                        journal's SchemaDeclared events), whole numbers as the
                        first value and then the differences
  data/rules/           which rules judged

Has it changed since it was written? See VERIFY.txt.
"""

VERIFY = """\
HOW TO CHECK THIS BUNDLE

Unpack it, enter its folder, and run

  sha256sum -c --strict tagmanifest-sha256.txt manifest-sha256.txt

Every line must say OK. The id of the bundle is what this prints:

  sha256sum tagmanifest-sha256.txt

Compare it with the id that you were given another way (ticket, phone): whoever
changes a file and its line in the manifest changes the id.

sha256sum does not notice an added file; bagit-py and "lanescope verify" do.

This bundle carries no signature: it shows that nothing changed since its id
was given to you, and not who wrote it.
"""
