"""Packages of Linux: archives and Debian packages of static programs, images for containers; x86-64 and aarch64."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
from datetime import datetime, timezone

import archive
import build
import contents
from archive import Member

FILES = build.ROOT / "packaging" / "linux-files"
# a target's name in packages, in Debian, in images
NAMES = {"x86_64-unknown-linux-musl": ("x86_64", "amd64"), "aarch64-unknown-linux-musl": ("aarch64", "arm64")}
EMULATOR = "qemu-aarch64"
# who the program runs as in a container
USER = 65532


def builds() -> set[tuple[str, str | None]]:
    """The builds of `make`: target and level."""
    return {one for triple in build.wanted(NAMES) for one in build.builds(triple)}


def make(dist: pathlib.Path) -> list[pathlib.Path]:
    """Makes the packages of the targets in GREEKSD_PACKAGE_TARGETS (all, unless it is set)."""
    made = []
    for triple in build.wanted(NAMES):
        folder = build.PACKAGES / f"{triple}-prefix"
        contents.prefix(triple, runner(triple), folder)
        made += [tarball(triple, folder, dist), deb(triple, folder, dist), image(triple, folder, dist)]
    return made


def runner(triple: str) -> list[str]:
    """How a target's program is started here, for what it prints about itself."""
    level = build.levels(triple)[0]
    program = str(build.program(triple, level))
    return [program] if triple.split("-")[0] == os.uname().machine else [EMULATOR, program]


def tarball(triple: str, prefix: pathlib.Path, dist: pathlib.Path) -> pathlib.Path:
    """An archive to be unpacked anywhere."""
    name = f"greeksd-{build.version()}-linux-{NAMES[triple][0]}"
    readme = (FILES / "README.txt").read_text().replace("VERSION", build.version())
    members = [*archive.tree(prefix, name), Member(f"{name}/README.txt", readme.encode())]
    out = dist / f"{name}.tar.gz"
    out.write_bytes(archive.gzipped(archive.tar(members)))
    return out


def deb(triple: str, prefix: pathlib.Path, dist: pathlib.Path) -> pathlib.Path:
    """A package of Debian, Ubuntu and what follows them, with a service that systemd runs."""
    architecture = NAMES[triple][1]
    root = build.PACKAGES / f"{triple}-deb"
    if root.exists():
        shutil.rmtree(root)
    shutil.copytree(prefix, root / "usr")
    for page in sorted((root / "usr/share/man/man1").iterdir()):
        page.with_name(page.name + ".gz").write_bytes(archive.gzipped(page.read_bytes()))
        page.unlink()
    # zsh of Debian looks there
    (root / "usr/share/zsh/site-functions").rename(root / "usr/share/zsh/vendor-completions")
    for name, place in {"greeksd.service": "usr/lib/systemd/system", "greeksd.toml": "etc/greeksd"}.items():
        (root / place).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FILES / name, root / place / name)
    documents = root / "usr/share/doc/greeksd"
    (documents / "copyright").write_text(
        "greeksd: MIT or Apache-2.0, at your choice (LICENSE-MIT, LICENSE-APACHE).\n"
        "What it contains of others: THIRD-PARTY-LICENSES.txt.\n"
    )
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    control = root / "DEBIAN"
    control.mkdir()
    for name in ("postinst", "prerm", "postrm"):
        shutil.copyfile(FILES / name, control / name)
        (control / name).chmod(0o755)
    (control / "conffiles").write_text("/etc/greeksd/greeksd.toml\n")
    (control / "control").write_text(
        f"Package: greeksd\nVersion: {build.version()}\nArchitecture: {architecture}\n"
        "Maintainer: The greeksd contributors <greeksd@localhost>\nSection: net\nPriority: optional\n"
        f"Installed-Size: {sum(path.stat().st_size for path in files) // 1024}\nRecommends: ca-certificates\n"
        "Description: option Greeks of US listed options over HTTP, on this machine\n"
        " A local daemon that takes quotes, calibrates forwards, borrow rates and volatility\n"
        " curves, and serves Greeks of every contract on port 2112. Without options it serves\n"
        " an embedded, simulated market.\n"
    )
    for path in [root, *root.rglob("*")]:
        if path.is_dir() or path.stat().st_mode & 0o100:
            path.chmod(0o755)
        else:
            path.chmod(0o644)
    out = dist / f"greeksd_{build.version()}_{architecture}.deb"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": build.commit_time()}
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(out)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return out


def image(triple: str, prefix: pathlib.Path, dist: pathlib.Path) -> pathlib.Path:
    """An image from nothing, as an archive that `podman load`, `docker load` and `skopeo` read."""
    code = "import certifi; print(certifi.where())"
    roots = pathlib.Path(build.asked(str(build.tools() / "python"), "-c", code)).read_bytes()
    members = [
        Member("etc", None, 0o755),
        Member("etc/passwd", f"greeksd:x:{USER}:{USER}::/var/lib/greeksd:/sbin/nologin\n".encode()),
        Member("etc/group", f"greeksd:x:{USER}:\n".encode()),
        Member("etc/ssl", None, 0o755),
        Member("etc/ssl/certs", None, 0o755),
        Member("etc/ssl/certs/ca-certificates.crt", roots),
        Member("tmp", None, 0o1777),
        *[member for member in archive.tree(prefix, "usr") if "/share/" not in member.name or "/doc/" in member.name],
        Member("var", None, 0o755),
        Member("var/lib", None, 0o755),
        Member("var/lib/greeksd", None, 0o700, USER),
    ]
    layer = archive.tar(members)
    time = datetime.fromtimestamp(int(build.commit_time()), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {
        "org.opencontainers.image.title": "greeksd",
        "org.opencontainers.image.version": build.version(),
        "org.opencontainers.image.revision": build.commit(),
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
    }
    config = document(
        {
            "created": time,
            "architecture": NAMES[triple][1],
            "os": "linux",
            "config": {
                "User": f"{USER}:{USER}",
                "ExposedPorts": {"2112/tcp": {}},
                "Entrypoint": ["/usr/bin/greeksd"],
                # within a container every client is remote; what reaches the port is the host's to say
                "Cmd": ["serve", "--listen", "0.0.0.0:2112", "--allow-remote", "--state-dir", "/var/lib/greeksd"],
                "Volumes": {"/var/lib/greeksd": {}},
                "WorkingDir": "/var/lib/greeksd",
                # of Docker; Podman reads it from images in Docker's own format
                "Healthcheck": {
                    "Test": ["CMD", "/usr/bin/greeksd", "ready"],
                    "Interval": 30_000_000_000,
                    "Timeout": 10_000_000_000,
                    "StartPeriod": 600_000_000_000,
                    "Retries": 3,
                },
                "StopSignal": "SIGTERM",
                "Labels": labels,
            },
            "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
            "history": [{"created": time, "created_by": "packaging/linux.py"}],
        }
    )
    packed = archive.gzipped(layer)
    manifest = document(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": described("application/vnd.oci.image.config.v1+json", config),
            "layers": [described("application/vnd.oci.image.layer.v1.tar+gzip", packed)],
            "annotations": labels,
        }
    )
    tag = build.version()
    index = {
        "schemaVersion": 2,
        "manifests": [
            {
                **described("application/vnd.oci.image.manifest.v1+json", manifest),
                "platform": {"architecture": NAMES[triple][1], "os": "linux"},
                "annotations": {"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": f"greeksd:{tag}"},
            }
        ],
    }
    blobs = sorted((digest(data).removeprefix("sha256:"), data) for data in (config, packed, manifest))
    blob = {data: f"blobs/sha256/{name}" for name, data in blobs}
    legacy = [{"Config": blob[config], "RepoTags": [f"greeksd:{tag}"], "Layers": [blob[packed]]}]
    out = dist / f"greeksd-{tag}-oci-{NAMES[triple][1]}.tar"
    whole = [
        Member("oci-layout", document({"imageLayoutVersion": "1.0.0"})),
        Member("index.json", document(index)),
        # for versions of Docker that do not read the two above
        Member("manifest.json", document(legacy)),
        Member("blobs", None, 0o755),
        Member("blobs/sha256", None, 0o755),
        *(Member(f"blobs/sha256/{name}", data) for name, data in blobs),
    ]
    out.write_bytes(archive.tar(whole))
    return out


def document(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def described(kind: str, data: bytes) -> dict:
    return {"mediaType": kind, "digest": digest(data), "size": len(data)}
