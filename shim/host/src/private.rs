//! Files and folders that only their owner may read: what is recorded, what is kept, what the daemon was asked about.
//! Never: what stands in them.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter};
use std::path::Path;

/// Creates a file, or empties the one that is there.
///
/// # Errors
/// As [`File::create`].
pub fn create(path: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(true).open(path)
}

/// Options that create files for their owner alone. A file that is there stays as it is.
pub fn options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "other systems give a file the rights of its folder"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder and those above it, for their owner alone. Folders that are there stay as they are.
///
/// # Errors
/// As [`std::fs::create_dir_all`].
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// The right to write to a folder, which is made if it is not there, until the file is dropped. `lock` is the name of a
/// file in it.
///
/// # Errors
/// It cannot be made or written to; another process has it ([`io::ErrorKind::ResourceBusy`]).
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

/// Writes a file in place of the one that is there. It is complete and on the disk when it gets its name; where that
/// fails, the one that was there stays. Its folder is made.
///
/// # Errors
/// What `write` reports, and the file system.
pub fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create_folder(folder)?;
    // two programs with one folder do not write into each other's file
    let unfinished = path.with_extension(format!("{}.unfinished", std::process::id()));
    let written = write_synced(&unfinished, write).and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written?;
    // a name in a folder is on the disk when the folder is
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn write_synced(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(create(path)?);
    write(&mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Why a file is not read: it is damaged, or somebody else put it there.
pub const DAMAGED_OR_FOREIGN: &str = "is damaged or not a file of greeksd";

/// Gives a file that cannot be used the name `FILE.bad`, where somebody may look at it, and logs that with the reason,
/// which follows the file's name.
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

/// True if others than the owner may read or write a file.
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

/// Lets the system write no core file of this process: it would hold the keys.
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
