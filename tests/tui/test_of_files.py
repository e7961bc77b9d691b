"""Files on the screens: a read-only incident that says so, shows its findings, and refuses to probe."""

from __future__ import annotations

from pathlib import Path

import pytest
from lanescope.evidence.case import Case
from lanescope.session.files.source import FileSource
from lanescope.session.session import Session
from lanescope.session.session import running as session_runs
from lanescope.tui.app import LanescopeApp
from lanescope.tui.draw.canvas import text_of
from lanescope.tui.widgets.strip_view import StripView

OFF_BUS = (
    "[6781741.548779] NVRM: Xid (PCI:0000:91:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
    "[6781753.400584] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up\n"
)
BY_DESIGN = "".join(
    f"GPU {gpu}: NVIDIA H100 PCIe\n"
    + "".join(f"\t Link {at}: {'<inactive>' if at in (4, 5, 10, 11, 16, 17) else '26.562 GB/s'}\n" for at in range(18))
    for gpu in range(2)
)
NAMES = "index, name, pci.bus_id\n0, NVIDIA H100 PCIe, 00000000:17:00.0\n1, NVIDIA H100 PCIe, 00000000:65:00.0\n"


def shown(app: LanescopeApp) -> str:
    return "\n".join(text_of(view.rows) for view in app.screen.query(StripView))


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_files_are_a_read_only_incident(tmp_path: Path, size: tuple[int, int]) -> None:
    for name, text in (("n7/dmesg", OFF_BUS), ("n8/nvlink-s.txt", BY_DESIGN), ("n8/names.csv", NAMES)):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(text)
    source = FileSource([tmp_path / "in"])
    session = Session(source, Case.create(tmp_path / "cases"), fabric=source.fabric)
    async with session_runs(session):
        assert await session.until(lambda seen: len(seen.findings) >= 2, 10.0)
        app = LanescopeApp(session)
        async with app.run_test(size=size) as pilot:
            await pilot.pause(1.2)
            fleet = shown(app)
            assert "files, read-only" in fleet
            assert "n7" in fleet
            assert "off the bus" in fleet
            assert "design" in fleet
            assert "nothing heard" not in fleet
            assert "1 output" in fleet
            await pilot.press("p")
            await pilot.pause(0.2)
            assert "these are files and no nodes" in shown(app)
            await pilot.press("4")
            await pilot.pause(0.2)
            events = shown(app)
            assert "6781742s" in events
            assert "nvlink-s.txt: nvidia-smi nvlink" in events
            assert "Xid" in events
