"""scripts/install: below any folder, as often as one likes, and away again without a trace.

Run with: python3 -m unittest discover -s tests/scripts
"""

import os
import platform
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

try:
    from gi.repository import Gio
except ImportError:
    Gio = None

SCRIPT = Path(__file__).parents[2] / "scripts" / "install"
# Says what it was started with.
PROGRAM = '#!/bin/sh\nprintf "%s\\n" "$@" >"$TOLD.part"\nmv "$TOLD.part" "$TOLD"\n'


@unittest.skipUnless(platform.system() == "Linux", "the files of Linux")
class Install(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.home = self.root / "home of someone"
        self.built = self.root / "built"
        self.home.mkdir()
        self.built.mkdir()
        for name in ["lodestone", "lode"]:
            (self.built / name).write_text(PROGRAM)
            (self.built / name).chmod(0o755)
        self.told = self.root / "told"

    def install(self, *options, status=0):
        environment = {**os.environ, "HOME": str(self.home), "TOLD": str(self.told)}
        run = subprocess.run(
            [SCRIPT, *options], env=environment, capture_output=True, text=True, timeout=60
        )
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def files(self, below):
        return {str(path.relative_to(below)): path for path in below.rglob("*") if path.is_file()}

    def test_it_installs_twice_and_takes_all_away(self):
        local = self.home / ".local"
        ours = local / "share" / "icons" / "hicolor" / "32x32" / "apps"
        ours.mkdir(parents=True)
        (ours / "another.png").write_bytes(b"theirs")
        before = set(self.files(self.home))
        self.install("--from", self.built)
        installed = self.files(local)
        for name in [
            "bin/lode",
            "bin/lodestone",
            "share/applications/org.lodestone.Lodestone.desktop",
            "share/metainfo/org.lodestone.Lodestone.metainfo.xml",
            "share/icons/hicolor/512x512/apps/lodestone.png",
            "share/icons/hicolor/scalable/apps/lodestone.svg",
            "share/kio/servicemenus/index-with-lodestone.desktop",
            "share/nautilus/scripts/Index with Lodestone",
        ]:
            self.assertIn(name, installed)
        for name in ["bin/lode", "share/nautilus/scripts/Index with Lodestone"]:
            self.assertTrue(os.access(installed[name], os.X_OK), name)
        contents = {name: path.read_bytes() for name, path in installed.items()}

        self.install("--from", self.built)
        again = {name: path.read_bytes() for name, path in self.files(local).items()}
        self.assertEqual(again, contents)

        self.install("--uninstall")
        self.assertEqual(set(self.files(self.home)), before)
        self.assertFalse((local / "bin").exists())
        self.install("--uninstall")

    def test_a_newer_program_takes_the_place_of_one_that_runs(self):
        self.install("--from", self.built)
        place = self.home / ".local" / "bin" / "lodestone"
        sleep = subprocess.run(["which", "sleep"], capture_output=True, text=True, check=True)
        place.write_bytes(Path(sleep.stdout.strip()).read_bytes())
        with subprocess.Popen([place, "60"]) as running:
            self.addCleanup(running.kill)
            self.install("--from", self.built)
            self.assertEqual(place.read_text(), PROGRAM)
            running.kill()

    def test_another_prefix_gets_nothing_of_one_person(self):
        prefix = self.root / "usr local"
        self.install("--from", self.built, "--prefix", prefix)
        self.assertEqual(list(self.home.iterdir()), [])
        entry = (prefix / "share/applications/org.lodestone.Lodestone.desktop").read_text()
        self.assertIn(f'\nExec="{prefix}/bin/lodestone" %F\n', entry)
        self.assertIn(f"\nTryExec={prefix}/bin/lodestone\n", entry)
        self.assertEqual(entry.count(f'lodestone %F\n'), 0)
        self.assertEqual(entry.count(f' "{prefix}/bin/lodestone"\n'), 2)
        self.assertNotIn("share/nautilus", " ".join(self.files(prefix)))
        self.install("--uninstall", "--prefix", prefix)
        self.assertEqual(list(prefix.iterdir()), [])

    def test_what_cannot_be_done_is_said_and_nothing_installed(self):
        (self.built / "lode").unlink()
        for options, said in [
            (["--from", self.built], "lode is not there"),
            (["--from"], "--from needs a folder"),
            (["--fro", self.built], "unknown option --fro"),
            (["--from", self.built, "--prefix", self.root / 'a"b'], "cannot name"),
        ]:
            with self.subTest(options=options):
                self.assertIn(said, self.install(*options, status=1))
        self.assertEqual(self.files(self.home), {})

    def test_the_script_of_nautilus_names_what_is_selected(self):
        self.install("--from", self.built)
        script = self.home / ".local/share/nautilus/scripts/Index with Lodestone"
        environment = {**os.environ, "TOLD": str(self.told)}
        for selected in [["a file", "-b"], []]:
            subprocess.run([script, *selected], env=environment, cwd=self.built, check=True)
            expected = ["--", *(selected or [str(self.built)])]
            self.assertEqual(self.told.read_text().splitlines(), expected)

    @unittest.skipIf(Gio is None, "PyGObject is not installed")
    def test_a_desktop_starts_it_with_paths(self):
        self.install("--from", self.built)
        entry = self.home / ".local/share/applications/org.lodestone.Lodestone.desktop"
        app = Gio.DesktopAppInfo.new_from_filename(str(entry))
        self.assertEqual(app.get_startup_wm_class(), "lodestone")
        context = Gio.AppLaunchContext()
        context.setenv("TOLD", str(self.told))
        chosen = self.root / "notes & more" / "100 %.md"
        chosen.parent.mkdir()
        chosen.write_text("notes")
        self.assertTrue(app.launch([Gio.File.new_for_path(str(chosen))], context))
        self.assertEqual(self.wait_for_told(), [str(chosen)])

        # The folders of the actions come from a program that a test has no say in.
        tools = self.root / "tools"
        tools.mkdir()
        (tools / "xdg-user-dir").write_text('#!/bin/sh\necho "/folders/My $1"\n')
        (tools / "xdg-user-dir").chmod(0o755)
        context.setenv("PATH", f"{tools}:{os.environ['PATH']}")
        for action, folder in [("documents", "DOCUMENTS"), ("downloads", "DOWNLOAD")]:
            self.assertIn(action, app.list_actions())
            self.told.unlink()
            app.launch_action(action, context)
            self.assertEqual(self.wait_for_told(), [f"/folders/My {folder}"])

    def wait_for_told(self):
        deadline = time.monotonic() + 30
        while not self.told.exists():
            self.assertLess(time.monotonic(), deadline, "nothing was started")
            time.sleep(0.01)
        return self.told.read_text().splitlines()


if __name__ == "__main__":
    unittest.main()
