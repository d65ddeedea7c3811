"""The package of Windows: an archive of launcher and builds, with what installs it and its service, and winget's manifests.

Trials of it: tests/windows/run.py. What its user does: windows/README.txt.
"""

import hashlib
import pathlib
import shutil

import archive
import build
import contents
import notices
from archive import Member

FILES = build.ROOT / "packaging" / "windows"
TRIPLE = "x86_64-pc-windows-gnu"
WINGET = "greeksd.greeksd"


def builds() -> set[tuple[str, str | None]]:
    """The builds of `make`: target and level."""
    return build.builds(TRIPLE)


def make(dist: pathlib.Path) -> list[pathlib.Path]:
    """Makes the archive and the manifests that name it."""
    name = f"greeksd-{build.version()}-windows-x86_64"
    zipped = dist / f"{name}.zip"
    zipped.write_bytes(archive.zip(members(name)))
    return [zipped, *winget(zipped, dist)]


def members(name: str) -> list[Member]:
    """What is in the archive, below a folder of its name."""
    folder = build.PACKAGES / f"{TRIPLE}-prefix"
    contents.programs(TRIPLE, folder)
    documents = folder / "doc"
    notices.write(TRIPLE, documents)
    for file in ("LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"):
        shutil.copyfile(build.ROOT / file, documents / file)
    for file in sorted(file for file in FILES.iterdir() if file.suffix in (".txt", ".ps1")):
        # Windows' own editors and PowerShell expect such ends of lines
        text = file.read_text().replace("VERSION", build.version()).replace("\n", "\r\n")
        (folder / file.name).write_bytes(text.encode())
    return archive.tree(folder, name)


def winget(zipped: pathlib.Path, dist: pathlib.Path) -> list[pathlib.Path]:
    """The three manifests of the Windows package manager."""
    version, inner = build.version(), zipped.stem
    head = f"PackageIdentifier: {WINGET}\nPackageVersion: {version}\n"
    tail = "ManifestVersion: 1.10.0\n"
    checksum = hashlib.sha256(zipped.read_bytes()).hexdigest().upper()
    texts = {
        f"{WINGET}.yaml": head + "DefaultLocale: en-US\nManifestType: version\n" + tail,
        f"{WINGET}.installer.yaml": head
        + "Platform:\n- Windows.Desktop\nMinimumOSVersion: 10.0.17763.0\n"
        + "InstallerType: zip\nNestedInstallerType: portable\nNestedInstallerFiles:\n"
        # the launcher finds its builds from the link that winget makes
        + f"- RelativeFilePath: {inner}\\bin\\greeksd.exe\n  PortableCommandAlias: greeksd\n"
        + f"Commands:\n- greeksd\nInstallers:\n- Architecture: x64\n  InstallerUrl: {build.release_url()}/{zipped.name}\n"
        + f"  InstallerSha256: {checksum}\nManifestType: installer\n"
        + tail,
        f"{WINGET}.locale.en-US.yaml": head
        + "PackageLocale: en-US\nPublisher: The greeksd contributors\nPackageName: greeksd\n"
        + "License: MIT OR Apache-2.0\nShortDescription: Option Greeks of US listed options over HTTP, on this machine\n"
        + "Description: A local daemon that takes quotes, calibrates forwards, borrow rates and volatility curves, and serves\n"
        + "  Greeks of every contract on port 2112. Without options it serves an embedded, simulated market.\n"
        + "Moniker: greeksd\nTags:\n- options\n- greeks\n- finance\nManifestType: defaultLocale\n"
        + tail,
    }
    for file, text in texts.items():
        (dist / file).write_text(text)
    return [dist / file for file in texts]
