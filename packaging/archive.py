"""Archives whose bytes depend on nothing but what is in them: names in order, one time for all, owner root."""

import gzip
import io
import pathlib
import tarfile
import time
import zipfile
from dataclasses import dataclass

import build


@dataclass(frozen=True)
class Member:
    """A file or, without bytes, a folder of an archive: where it stands, its rights and its owner's number."""

    name: str
    data: bytes | None
    mode: int = 0o644
    owner: int = 0


def tree(folder: pathlib.Path, under: str) -> list[Member]:
    """The files below a folder, and their folders, as members below `under`; what is executable stays so."""
    members = [Member(under, None, 0o755)] if under else []
    for path in sorted(folder.rglob("*")):
        name = f"{under}/{path.relative_to(folder).as_posix()}".lstrip("/")
        if path.is_dir():
            members.append(Member(name, None, 0o755))
        else:
            members.append(Member(name, path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644))
    return members


def tar(members: list[Member]) -> bytes:
    """A tar archive of members, in their order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for member in members:
            entry = tarfile.TarInfo(member.name)
            entry.type = tarfile.DIRTYPE if member.data is None else tarfile.REGTYPE
            entry.mode, entry.mtime = member.mode, int(build.commit_time())
            entry.uid = entry.gid = member.owner
            entry.uname = entry.gname = "root" if member.owner == 0 else ""
            entry.size = len(member.data or b"")
            archive.addfile(entry, io.BytesIO(member.data or b""))
    return out.getvalue()


def gzipped(data: bytes) -> bytes:
    """The same, compressed, without a name or a time."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def zip(members: list[Member]) -> bytes:
    """A zip archive of members, in their order."""
    out = io.BytesIO()
    # the format has local time and even seconds; 1980 is its first year
    made = max(time.gmtime(int(build.commit_time()))[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for member in members:
            is_folder = member.data is None
            entry = zipfile.ZipInfo(member.name + ("/" if is_folder else ""), made)
            entry.create_system, entry.compress_type = 3, zipfile.ZIP_STORED if is_folder else zipfile.ZIP_DEFLATED
            entry.external_attr = ((0o040000 if is_folder else 0o100000) | member.mode) << 16 | (0x10 if is_folder else 0)
            archive.writestr(entry, member.data or b"")
    return out.getvalue()
