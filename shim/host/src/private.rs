//! Files and folders that only their owner can read: recordings, state and logs; short files of the user, of a bounded
//! length. Never: their contents.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Read};
use std::path::Path;

/// Most bytes of a short file: options, keys, certificates, a token.
pub const SHORT_BYTES: u64 = 1 << 20;

/// Reads a short file that the user names; it may be a pipe.
///
/// # Errors
/// The file cannot be read, or is longer than [`SHORT_BYTES`].
pub fn read_short(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = File::open(path)?.take(SHORT_BYTES + 1).read_to_end(&mut bytes)?;
    if length as u64 > SHORT_BYTES { Err(io::Error::other("longer than a megabyte")) } else { Ok(bytes) }
}

/// Reads a short regular file; a pipe, whose opening would wait for a writer, and a device are not opened.
///
/// # Errors
/// The file cannot be read, is no regular file, or is longer than [`SHORT_BYTES`].
pub fn read_short_regular(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_file() { read_short(path) } else { Err(io::Error::other("not a regular file")) }
}

/// The text of a file.
///
/// # Errors
/// It is not UTF-8.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::other("not UTF-8 text"))
}

/// Creates a file, or truncates an existing one.
///
/// # Errors
/// The file cannot be created.
pub fn create(path: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(true).open(path)
}

/// Options that create files for their owner alone. Existing files keep their permissions.
pub fn options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "other systems give a file the rights of its folder"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder and those above it, for their owner alone. Existing folders keep their permissions.
///
/// # Errors
/// A folder cannot be created.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Creates a folder if need be, and locks it against other processes until the returned file is dropped; `lock` is the
/// name of the lock file.
///
/// # Errors
/// The folder cannot be created or written to, or another process has locked it ([`io::ErrorKind::ResourceBusy`]).
pub fn claim_folder(path: &Path, lock: &str) -> io::Result<File> {
    create_folder(path)?;
    let file = options().create(true).append(true).open(path.join(lock))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::ResourceBusy.into()),
        // not every file system has locks
        Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => Err(error),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Replaces a file. The new file is complete and synced before it gets the name; after a failure the old file stays.
/// The folder is created if need be.
///
/// # Errors
/// `write` fails, or the file system does.
pub fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create_folder(folder)?;
    // two processes with one folder must not write to the same temporary file
    let unfinished = path.with_extension(format!("{}.unfinished", std::process::id()));
    let written = write_synced(&unfinished, write).and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written?;
    // the rename is on the disk only after the folder is synced
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn write_synced(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(create(path)?);
    write(&mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Reason for [`move_aside`]: the file is damaged, or not ours.
pub const DAMAGED_OR_FOREIGN: &str = "is damaged or not a file of greeksd";

/// Renames an unusable file to `FILE.bad`, and logs that with the reason, which follows the file's name.
pub fn move_aside(path: &Path, reason: &str) {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".bad");
    match fs::rename(path, &aside) {
        Ok(()) => {
            let aside = Path::new(&aside).display();
            tracing::warn!("{} {reason}; it has been renamed to {aside}", path.display());
        }
        Err(error) => tracing::warn!("{} {reason}, and cannot be renamed: {error}", path.display()),
    }
}

/// True if users other than the owner can read or write a file.
#[must_use]
pub fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Forbids core files of this process, which would contain the keys.
pub fn forbid_core_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        if let Err(error) = setrlimit(Resource::Core, none) {
            tracing::debug!("core files: {error}");
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn short_files_are_read_to_a_bound() {
        let endless = Path::new("/dev/zero");
        assert!(read_short(endless).unwrap_err().to_string().contains("longer than a megabyte"));
        assert!(read_short_regular(endless).unwrap_err().to_string().contains("not a regular file"));
        let file = std::env::temp_dir().join(format!("greeksd-short-{}", std::process::id()));
        fs::write(&file, "a").unwrap();
        assert_eq!(read_short_regular(&file).and_then(text).unwrap(), "a");
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn what_is_made_is_its_owners() {
        let folder = std::env::temp_dir().join(format!("greeksd-private-{}", std::process::id()));
        let inner = folder.join("a/b");
        create_folder(&inner).unwrap();
        let file = inner.join("file");
        create(&file).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&inner), mode(&file)), (0o700, 0o700, 0o600));
        assert!(!is_open_to_others(&file));
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        assert!(is_open_to_others(&file));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
