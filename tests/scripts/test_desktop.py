"""What the desktop is told: it parses, and names the types that docs/formats.md says are read.

Run with: python3 -m unittest discover -s tests/scripts
"""

import configparser
import plistlib
import re
import shutil
import subprocess
import tomllib
import unittest
import xml.etree.ElementTree
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
DESKTOP = REPOSITORY / "assets" / "desktop"
ENTRY = DESKTOP / "linux" / "org.lodestone.Lodestone.desktop"
MENU = DESKTOP / "linux" / "index-with-lodestone.desktop"
METAINFO = DESKTOP / "linux" / "org.lodestone.Lodestone.metainfo.xml"
PLIST = DESKTOP / "macos" / "Info.plist"
WORD = "application/vnd.openxmlformats-officedocument"
OPEN = "application/vnd.oasis.opendocument"

# A format as docs/formats.md names it: its MIME types, and what macOS knows it by.
FORMATS = {
    "PDF": ("application/pdf", "com.adobe.pdf"),
    "DOCX": (f"{WORD}.wordprocessingml.document", "org.openxmlformats.wordprocessingml.document"),
    "ODT": (f"{OPEN}.text", "org.oasis-open.opendocument.text"),
    "RTF": ("application/rtf", "public.rtf"),
    "PPTX": (
        f"{WORD}.presentationml.presentation",
        "org.openxmlformats.presentationml.presentation",
    ),
    "ODP": (f"{OPEN}.presentation", "org.oasis-open.opendocument.presentation"),
    "XLSX": (f"{WORD}.spreadsheetml.sheet", "org.openxmlformats.spreadsheetml.sheet"),
    "XLS": ("application/vnd.ms-excel", "com.microsoft.excel.xls"),
    "XLSB": ("application/vnd.ms-excel.sheet.binary.macroEnabled.12", "xlsb"),
    "ODS": (f"{OPEN}.spreadsheet", "org.oasis-open.opendocument.spreadsheet"),
    "EPUB": ("application/epub+zip", "org.idpf.epub-container"),
    "EML": ("message/rfc822", "com.apple.mail.email"),
    "mbox": ("application/mbox", "mbox"),
    "MHTML": ("application/x-mimearchive", "mht mhtml"),
    "ZIP": ("application/zip", "public.zip-archive"),
    "tar.gz": ("application/x-tar application/x-compressed-tar", "org.gnu.gnu-zip-tar-archive"),
    # No system names its type; a crate is a tar.gz under another name.
    "crates": ("", "crate"),
    "gzip": ("application/gzip", "org.gnu.gnu-zip-archive"),
    "LaTeX": ("text/x-tex", "tex"),
    "CSV": ("text/csv", "public.comma-separated-values-text"),
    "TSV": ("text/tab-separated-values", "public.tab-separated-values-text"),
    "Jupyter notebooks": ("application/x-ipynb+json", "ipynb"),
    "plain text": ("text/plain", "public.plain-text"),
    "Markdown": ("text/markdown", "net.daringfireball.markdown"),
    "HTML": ("text/html application/xhtml+xml", "public.html"),
    "source code": (
        "text/x-csrc text/x-chdr text/x-c++src text/x-c++hdr text/x-go text/x-java text/javascript"
        " application/typescript text/x-python text/rust",
        "public.source-code",
    ),
    "JSON": ("application/json", "public.json"),
    "YAML": ("application/yaml", "public.yaml"),
    "TOML": ("application/toml", "toml"),
    "XML": ("application/xml", "public.xml"),
}


def formats_of_docs() -> set[str]:
    text = (REPOSITORY / "docs" / "formats.md").read_text(encoding="utf-8")
    table = re.search(r"\| format \|.*?\n\n", text, re.DOTALL)[0].splitlines()[2:]
    names = [name.strip() for row in table if row for name in row.split("|")[1].split(",")]
    also = re.search(r"Also read: (.*?)\.", text, re.DOTALL)[1]
    also = re.sub(r"\([^)]*\)", "", also.replace("\n", " "))
    for filler in ["and as before", "in any encoding", "to which", "belong"]:
        also = also.replace(filler, "")
    names += re.split(r",| and ", also)
    return {name.strip() for name in names if name.strip()}


def read_entry(path: Path) -> configparser.ConfigParser:
    entry = configparser.ConfigParser(interpolation=None, delimiters="=", comment_prefixes="#")
    entry.optionxform = str
    entry.read(path, encoding="utf-8")
    return entry


def words(column: int) -> set[str]:
    return {word for names in FORMATS.values() for word in names[column].split()}


class Types(unittest.TestCase):
    def test_every_format_of_the_documentation_has_types_here(self):
        self.assertEqual(formats_of_docs(), set(FORMATS))

    def test_the_entry_names_them_and_folders(self):
        types = read_entry(ENTRY)["Desktop Entry"]["MimeType"].removesuffix(";").split(";")
        self.assertEqual(len(types), len(set(types)))
        self.assertEqual(set(types), words(0) | {"inode/directory"})

    def test_the_bundle_names_them_and_folders(self):
        named = set()
        for kind in plistlib.loads(PLIST.read_bytes())["CFBundleDocumentTypes"]:
            self.assertEqual((kind["CFBundleTypeRole"], kind["LSHandlerRank"]), ("Viewer", "Alternate"))
            named |= set(kind.get("LSItemContentTypes", [])) | set(kind.get("CFBundleTypeExtensions", []))
        self.assertEqual(named, words(1) | {"public.folder"})

    def test_no_scheme_is_claimed(self):
        self.assertNotIn("CFBundleURLTypes", plistlib.loads(PLIST.read_bytes()))
        self.assertNotIn("x-scheme-handler", ENTRY.read_text(encoding="utf-8"))


class Parts(unittest.TestCase):
    def test_every_action_of_the_entries_is_there(self):
        for path in [ENTRY, MENU]:
            entry = read_entry(path)
            actions = entry["Desktop Entry"]["Actions"].removesuffix(";").split(";")
            sections = {f"Desktop Action {action}" for action in actions}
            self.assertEqual(set(entry.sections()), sections | {"Desktop Entry"})
            for section in sections:
                self.assertTrue(entry[section]["Name"] and "lodestone" in entry[section]["Exec"])

    def test_the_entry_passes_its_validator(self):
        if shutil.which("desktop-file-validate") is None:
            self.skipTest("desktop-file-validate is not installed")
        run = subprocess.run(
            ["desktop-file-validate", ENTRY], capture_output=True, text=True, timeout=60
        )
        self.assertEqual((run.returncode, run.stdout + run.stderr), (0, ""))

    def test_the_metainfo_belongs_to_the_entry(self):
        root = xml.etree.ElementTree.parse(METAINFO).getroot()
        self.assertEqual(root.get("type"), "desktop-application")
        self.assertEqual(root.findtext("id"), ENTRY.stem)
        self.assertIn(ENTRY.name, [launch.text for launch in root.findall("launchable")])
        self.assertEqual(root.findtext("icon"), read_entry(ENTRY)["Desktop Entry"]["Icon"])
        binaries = {binary.text for binary in root.findall("provides/binary")}
        cargo = tomllib.loads((REPOSITORY / "Cargo.toml").read_text(encoding="utf-8"))
        self.assertEqual(binaries, {binary["name"] for binary in cargo["bin"]})
        self.assertEqual(root.findtext("project_license"), cargo["package"]["license"])

    def test_the_metainfo_passes_its_validator(self):
        if shutil.which("appstreamcli") is None:
            self.skipTest("appstreamcli is not installed")
        command = ["appstreamcli", "validate", "--no-net", METAINFO]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_the_bundle_has_the_version_and_name_of_the_package(self):
        plist = plistlib.loads(PLIST.read_bytes())
        cargo = tomllib.loads((REPOSITORY / "Cargo.toml").read_text(encoding="utf-8"))["package"]
        for key in ["CFBundleVersion", "CFBundleShortVersionString"]:
            self.assertEqual(plist[key], cargo["version"])
        self.assertEqual(plist["CFBundleExecutable"], cargo["default-run"])
        dioxus = tomllib.loads((REPOSITORY / "Dioxus.toml").read_text(encoding="utf-8"))["bundle"]
        self.assertEqual(plist["CFBundleIdentifier"], dioxus["identifier"])
        self.assertEqual(
            plist["LSMinimumSystemVersion"], dioxus["macos"]["minimum_system_version"]
        )

    def test_what_the_packages_are_made_of_is_there(self):
        dioxus = tomllib.loads((REPOSITORY / "Dioxus.toml").read_text(encoding="utf-8"))["bundle"]
        windows = dioxus["windows"]
        files = dioxus["icon"] + list(dioxus["deb"]["files"].values())
        files += [dioxus["deb"]["desktop_template"], dioxus["macos"]["info_plist_path"]]
        files += windows["wix"]["fragment_paths"]
        files += [windows["nsis"]["installer_icon"], windows["nsis"]["installer_hooks"]]
        for file in files:
            self.assertTrue((REPOSITORY / file).is_file(), file)
        # dx fills in what stands between such braces, and the entry is to stay as it is.
        self.assertNotIn("{{", ENTRY.read_text(encoding="utf-8"))

    def test_the_fragment_for_windows_holds_the_component_that_is_asked_for(self):
        fragment = DESKTOP / "windows" / "context-menu.wxs"
        space = {"wix": "http://schemas.microsoft.com/wix/2006/wi"}
        components = xml.etree.ElementTree.parse(fragment).findall(".//wix:Component", space)
        dioxus = tomllib.loads((REPOSITORY / "Dioxus.toml").read_text(encoding="utf-8"))["bundle"]
        self.assertEqual(
            [component.get("Id") for component in components],
            dioxus["windows"]["wix"]["component_refs"],
        )


if __name__ == "__main__":
    unittest.main()
