//! Texts of a book that its readers share: pieces of the newest book, within a bound, and the events of streams. Never:
//! a row.

use super::by_level::ByLevel;
use api::rows::frame::Format;
use api::vendors::native_positions::PositionRows;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum bytes of the pieces of a book.
const TEXT_BYTES: usize = 64 << 20;

/// The requested texts of a book.
#[derive(Debug)]
pub struct BookTexts {
    /// Cached pieces; `None`: a newer book has replaced this one, and no pieces are cached.
    pieces: Mutex<Option<KeptPieces>>,
    /// Events of streams.
    pub(super) events: ByLevel<Arc<LevelEvent>>,
}

/// Pieces by format, level and number, and their bytes.
#[derive(Debug, Default)]
struct KeptPieces {
    texts: HashMap<PieceName, Arc<[u8]>>,
    bytes: usize,
}

/// Format, level and number of a piece.
pub type PieceName = (Format, PositionRows, usize);

impl Default for BookTexts {
    fn default() -> Self {
        Self { pieces: Mutex::new(Some(KeptPieces::default())), events: Default::default() }
    }
}

impl BookTexts {
    /// A piece, written at the first request for it.
    pub fn piece(&self, name: PieceName, write: impl FnOnce() -> Option<Arc<[u8]>>) -> Option<Arc<[u8]>> {
        if let Some(known) = self.pieces().as_ref().and_then(|pieces| pieces.texts.get(&name)) {
            return Some(Arc::clone(known));
        }
        // two readers may write the same piece at once: neither waits for the other
        let new = write()?;
        if let Some(pieces) = self.pieces().as_mut().filter(|pieces| pieces.bytes + new.len() <= TEXT_BYTES)
            && pieces.texts.insert(name, Arc::clone(&new)).is_none()
        {
            pieces.bytes += new.len();
        }
        Some(new)
    }

    fn pieces(&self) -> MutexGuard<'_, Option<KeptPieces>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of the pieces.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pieces().as_ref().map_or(0, |pieces| pieces.bytes)
    }

    /// Drops the pieces, and caches no further ones.
    pub fn retire(&self) {
        *self.pieces() = None;
    }
}

/// An event of streams with the first rows of a level.
#[derive(Debug)]
pub struct LevelEvent {
    /// Hash of the rows.
    pub digest: u64,
    /// The event as JSON; `None`: it was taken away from streams that are too slow.
    text: Mutex<Option<Arc<[u8]>>>,
}

impl LevelEvent {
    /// An event of rows, behind its head.
    #[must_use]
    pub fn new(head: &str, rows: &[u8]) -> Arc<Self> {
        let mut hasher = DefaultHasher::new();
        hasher.write(rows);
        let text = [head.as_bytes(), rows, b"]}"].concat();
        Arc::new(Self { digest: hasher.finish(), text: Mutex::new(Some(text.into())) })
    }

    /// The event as JSON, unless it was taken away.
    #[must_use]
    pub fn text(&self) -> Option<Arc<[u8]>> {
        self.locked().clone()
    }

    /// Bytes of the text.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.locked().as_ref().map_or(0, |text| text.len())
    }

    /// Takes the text away from streams.
    pub fn take_away(&self) {
        *self.locked() = None;
    }

    fn locked(&self) -> MutexGuard<'_, Option<Arc<[u8]>>> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
