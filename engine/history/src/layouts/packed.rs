//! Packing of a file, and its members. Never: a row.

use super::refusal::LayoutError;
use kernel::error::FeedError;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Ways of packing that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Zip,
    Parquet,
}

/// First bytes of files, by packing.
const BEGIN: [(&[u8], Packing); 4] = [
    (&[0x1f, 0x8b], Packing::Gzip),
    (b"PK\x03\x04", Packing::Zip),
    (b"PK\x05\x06", Packing::Zip),
    (b"PAR1", Packing::Parquet),
];
/// First bytes of files with packings that are not supported.
const BEGIN_UNREAD: [(&[u8], &str); 7] = [
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
    (b"Rar!", "RAR"),
    (b"ARROW1", "Arrow IPC"),
    (b"SQLite format 3\0", "SQLite"),
];
/// Number of first bytes that determine the packing.
const HEAD: usize = 16;

/// The error of a file that cannot be read.
pub(super) fn unreadable(file: &Path, kind: ErrorKind) -> LayoutError {
    LayoutError::Unreadable(FeedError::Io { file: file.to_path_buf(), kind })
}

/// Opens a regular file, and finds its packing.
///
/// # Errors
/// The file cannot be opened, is not a regular file, is empty, or has a packing that is not supported.
pub(super) fn open(path: &Path) -> Result<(File, Packing), LayoutError> {
    let of = |e: std::io::Error| unreadable(path, e.kind());
    if !path.metadata().map_err(of)?.is_file() {
        return Err(LayoutError::Unreadable(FeedError::NotAFile { file: path.to_path_buf() }));
    }
    let mut file = File::open(path).map_err(of)?;
    let mut head = Vec::new();
    file.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(of)?;
    file.seek(SeekFrom::Start(0)).map_err(of)?;
    Ok((file, packing_of(path, &head)?))
}

/// The packing of a file that begins with `head`.
///
/// # Errors
/// The file is empty, or has a packing that is not supported.
pub(super) fn packing_of(path: &Path, head: &[u8]) -> Result<Packing, LayoutError> {
    if head.is_empty() {
        return Err(LayoutError::Empty { file: path.to_path_buf() });
    }
    if let Some((_, how)) = BEGIN_UNREAD.iter().find(|(begin, _)| head.starts_with(begin)) {
        return Err(LayoutError::Packed { file: path.to_path_buf(), how });
    }
    let packing = BEGIN.iter().find(|(begin, _)| head.starts_with(begin));
    Ok(packing.map_or(Packing::Plain, |(_, packing)| *packing))
}

/// Fields of our own lines, of which each line has one.
const LINE_FIELDS: [&str; 6] = ["osym", "root", "price", "ex_date", "tenor_days", "forget"];
/// Number of first lines of which one must be whole.
const LINES_TRIED: usize = 20;

/// True if a text is of our own JSON lines, and not one document of JSON.
pub(super) fn is_of_lines(text: &mut impl BufRead) -> bool {
    let head = begin_of(text);
    if !head.starts_with(b"{") {
        return false;
    }
    let is_own = |line: &[u8]| {
        let object = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line);
        object.is_ok_and(|object| LINE_FIELDS.iter().any(|field| object.contains_key(*field)))
    };
    head.split(|&byte| byte == b'\n').take(LINES_TRIED).any(is_own)
}

/// True if a text is a document of JSON: an object, or a list of objects; not a CSV header in brackets.
pub(super) fn is_document(text: &mut impl BufRead) -> bool {
    let begin = begin_of(text);
    let in_list = begin.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    in_list.unwrap_or(begin).starts_with(b"{")
}

/// A text from its first byte on that is no blank.
fn begin_of(text: &mut impl BufRead) -> &[u8] {
    let begin = text.fill_buf().unwrap_or_default();
    begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin).trim_ascii_start()
}

/// Names of members of an archive that have no quotes, by their ends.
const NO_QUOTES: [&str; 7] = ["pdf", "md", "html", "htm", "xlsx", "docx", "rtf"];

/// Reads each file of an archive in its order, with the bytes that it is packed in, and one that cannot be read too:
/// `read` says what becomes of it.
///
/// # Errors
/// The archive's list of files is damaged; nothing is read then.
pub(super) fn each_member(
    path: &Path,
    mut archive: impl Read + Seek,
    mut read: impl FnMut(PathBuf, Result<(&mut dyn Read, u64), ErrorKind>),
) -> Result<(), LayoutError> {
    let damaged = |_| unreadable(path, ErrorKind::InvalidData);
    let length = archive.seek(SeekFrom::End(0)).map_err(|e| unreadable(path, e.kind()))?;
    let mut archive = zip::ZipArchive::new(BufReader::new(archive)).map_err(damaged)?;
    for at in 0..archive.len() {
        match archive.by_index(at) {
            Ok(mut member) => {
                let name = PathBuf::from(member.name().map(String::from).unwrap_or_else(|_| format!("[{at}]")));
                let ending = name.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
                let hidden = name.components().any(|part| {
                    let part = part.as_os_str().to_string_lossy();
                    part.starts_with('.') || part == "__MACOSX"
                });
                if member.is_file() && !hidden && !NO_QUOTES.contains(&ending.as_str()) {
                    // whatever the list says
                    let packed = member.compressed_size().min(length);
                    read(name, Ok((&mut member, packed)));
                }
            }
            Err(error) => {
                let kind = if matches!(error, zip::result::ZipError::UnsupportedArchive(_)) {
                    ErrorKind::Unsupported
                } else {
                    ErrorKind::InvalidData
                };
                read(PathBuf::from(format!("[{at}]")), Err(kind));
            }
        }
    }
    Ok(())
}
