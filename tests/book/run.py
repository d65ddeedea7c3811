#!/usr/bin/env python3
"""Runs the examples of the documents: every request and every command of README.md and docs, against a daemon of its own.

usage: run.py [--greeksd PATH]

A line of a shell block that asks the daemon is run as it stands, at the address of that daemon; one that starts the daemon is
read with --print-config, which takes its options apart and ends; price, explain, man and completions run. Every address of the daemon
in any other block must answer, but for
those of vendors' clients, which tests/clients runs. What cannot be run says so: a line `<!-- not run: why -->` above its block. Where LibreOffice
is there it opens a chain as CSV and as HTML, and every cell is compared with the JSON. Every link between documents leads somewhere: pages of the book
to pages of the book and their headings, the others to files. Where mdbook is there it builds the book.
"""
import argparse, os, pathlib, re, shutil, subprocess, sys, tempfile, xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from daemon import PROGRAM, ROOT, Daemon

ADDRESS = "http://127.0.0.1:2112"
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
SERVES = re.compile(r"^(?:[A-Z_]+=\S+ )*greeksd(?: serve)?(?: --|$)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=PROGRAM, type=pathlib.Path)
    program = parser.parse_args().greeksd.resolve()
    pages = sorted((ROOT / "docs").rglob("*.md"))
    book = (ROOT / "docs" / "SUMMARY.md").read_text()
    names = [str(path.relative_to(ROOT / "docs")) for path in pages if path.name != "SUMMARY.md"]
    left_out = [name for name in names if f"({name})" not in book]
    assert not left_out, f"not in the book: {left_out}"
    documents = [ROOT / "README.md", *pages]
    print(f"ok   {links([*documents, *ROOT.glob('*.md')])} links between documents")
    ran, excused = 0, []
    with Daemon(program, "--feed", "sim", "--now", "2026-11-20T13:00:00-05:00") as daemon, \
            tempfile.TemporaryDirectory(prefix="greeksd-book-") as folder:
        place = Place(program, daemon, pathlib.Path(folder))
        for path in documents:
            for number, language, lines, why in blocks(path.read_text()):
                where = f"{path.relative_to(ROOT)}:{number}"
                if why:
                    excused.append(f"{where}: {why}")
                    continue
                if language == "sh":
                    ran += sum(place.run(where, line) for line in joined(lines))
                # tests/clients runs the documents for clients of vendors
                elif language.split()[0] not in ["python", "js"]:
                    ran += sum(place.ask(where, url) for url in re.findall(re.escape(ADDRESS) + r"/[^\s\"'`)]+", "\n".join(lines)))
        assert ran > 20, f"only {ran} lines were found"
        print(f"ok   {ran} commands and requests; not run: {len(excused)}")
        for line in excused:
            print(f"     {line}")
        spreadsheet(daemon, pathlib.Path(folder))
    build()


def links(documents):
    """Follows every relative link; returns how many there were."""
    followed = 0
    for path in sorted(set(documents)):
        in_book = ROOT / "docs" in path.parents
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(path.read_text())):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            to = (path.parent / file).resolve() if file else path
            assert to.exists(), f"{path.name}: {target}: there is no such file"
            if in_book and to.suffix != ".svg" and to.suffix != ".png":
                assert ROOT / "docs" in to.parents and to.suffix == ".md", f"{path.name}: {target} is not in the book"
            if anchor:
                headings = [slug(line.lstrip("# ")) for line in prose(to.read_text()).split("\n") if line.startswith("#")]
                assert anchor in headings, f"{path.name}: {target}: no such heading among {headings}"
            followed += 1
    assert followed > 60, f"only {followed} links were found"
    return followed


def prose(text):
    """A document without its fenced blocks."""
    return re.sub(r"(?ms)^```.*?^```$", "", text)


def slug(heading):
    """The anchor of a heading, as mdbook and forges make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def blocks(text):
    """The fenced blocks of a document: line, language, lines, and why it is not run."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        if lines[at].startswith("```") and len(lines[at]) > 3:
            end = next(i for i in range(at + 1, len(lines)) if lines[i].startswith("```"))
            above = next((line for line in reversed(lines[:at]) if line.strip()), "")
            excuse = NOT_RUN.search(above)
            yield at + 1, lines[at][3:].strip(), lines[at + 1:end], excuse and excuse[1]
            at = end
        at += 1


def joined(lines):
    """Commands: lines with those that continue them, without comments."""
    text = "\n".join(lines).replace("\\\n", " ")
    for line in text.split("\n"):
        line = re.sub(r"\s+#\s.*$", "", line).strip()
        if line and not line.startswith("#"):
            yield line


class Place:
    """Where commands are run: a folder of their own, a daemon."""

    def __init__(self, program, daemon, folder):
        self.program, self.daemon, self.folder = program, daemon, folder
        for kind in ["golden"]:
            (folder / kind).symlink_to(ROOT / kind)
        # `greeksd` is the program that is tested
        (folder / "bin").mkdir()
        (folder / "bin" / "greeksd").symlink_to(program)
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.environment = {"PATH": path, "HOME": str(folder), "NO_PROXY": "*"}

    def run(self, where, line):
        line = re.sub(r"^((?:[A-Z_]+=\S+ )*)cargo run --release(?: --)?", r"\1greeksd", line)
        if re.match(r"""(?:[A-Z_]+=(?:"[^"]*"|\S+) )*(?:cargo|just) """, line):
            return 0
        if SERVES.match(line):
            # an example of a key is none; a key that is wrong is told when it is used
            self.shell(where, f"{line.rstrip(' &')} --print-config")
        elif line.startswith("curl "):
            assert ADDRESS in line, f"{where}: asks another: {line}"
            answer = self.shell(where, line.replace("curl ", "curl -sf ", 1).replace(ADDRESS, self.daemon.base))
            assert answer or " -o " in line, f"{where}: no answer to {line}"
        elif line.startswith(("greeksd price ", "greeksd explain ", "greeksd man", "greeksd completions ")):
            self.shell(where, line)
        else:
            raise AssertionError(f"{where}: nothing here knows how to run: {line}")
        return 1

    def shell(self, where, line):
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{where}: {line}\n{done.stdout[-500:]}{done.stderr[-1500:]}"
        return done.stdout

    def ask(self, where, url):
        try:
            assert self.daemon.get(url.removeprefix(ADDRESS)), f"{where}: an empty answer to {url}"
        except OSError as error:
            raise AssertionError(f"{where}: {error}: {url}") from error
        return 1


def spreadsheet(daemon, folder):
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if not office:
        print("skipped: LibreOffice is not on this machine; no table was opened in a spreadsheet")
        return
    target = "/l1/greeks?underlying=SPX&center=atf&right=call&greeks=all&format="
    rows = daemon.json(target + "json")
    # pages show four decimals
    for kind, reader, error in [("csv", "CSV:44,34,76,1,,1033,false,true", 0), ("html", "calc_HTML_WebQuery", 0.5001e-4)]:
        (folder / f"table.{kind}").write_text(daemon.get(target + kind))
        out = folder / f"from-{kind}"
        command = [office, "--headless", "--norestore", f"-env:UserInstallation={(folder / 'office').as_uri()}",
                   f"--infilter={reader}", "--convert-to", "fods", "--outdir", str(out), str(folder / f"table.{kind}")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "HOME": str(folder)})
        assert (out / "table.fods").exists(), done.stdout + done.stderr
        cells = [row for row in sheet(out / "table.fods") if any(cell is not None for cell in row)]
        head = next(i for i, row in enumerate(cells) if row[:2] == ["underlying", "root"])
        names, found = cells[head], cells[head + 1:]
        assert len(found) == len(rows), f"{kind}: {len(found)} rows of {len(rows)}"
        compared = 0
        for cell_row, row in zip(found, rows):
            for name, cell in zip(names, cell_row):
                wanted = row[name]
                if isinstance(wanted, (int, float)):
                    same = isinstance(cell, float) and abs(cell - wanted) <= error
                elif wanted is None:
                    same = cell is None
                else:
                    same = cell is not None and str(cell).split() == wanted.split()
                assert same, f"{kind}: {name}: {cell!r} for {wanted!r}"
                compared += 1
        print(f"ok   LibreOffice opens {kind}: {len(rows)} rows, {compared} cells as in the JSON")


def sheet(path):
    """The rows of the first table of a flat document: numbers, dates as text, words, None."""
    namespaces = {"table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0", "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0"}
    name = lambda space, word: f"{{{namespaces[space]}}}{word}"
    table = xml.etree.ElementTree.parse(path).find(".//table:table", namespaces)
    for row in table.iter(name("table", "table-row")):
        cells = []
        for cell in row:
            kind = cell.get(name("office", "value-type"))
            text = "\n".join("".join(paragraph.itertext()) for paragraph in cell)
            value = {"float": lambda: float(cell.get(name("office", "value"))), "percentage": lambda: float(cell.get(name("office", "value"))),
                     "date": lambda: cell.get(name("office", "date-value"))[:10], None: lambda: None}.get(kind, lambda: text)()
            cells += [value] * min(int(cell.get(name("table", "number-columns-repeated"), 1)), 100)
        yield cells


def build():
    mdbook = shutil.which("mdbook")
    if not mdbook:
        print("skipped: mdbook is not on this machine; the book was not built")
        return
    done = subprocess.run([mdbook, "build"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "WARN" not in done.stderr and "ERROR" not in done.stderr, done.stderr
    print(f"ok   the book is built: {len(list((ROOT / 'target/book').glob('*.html')))} pages")


if __name__ == "__main__":
    main()
