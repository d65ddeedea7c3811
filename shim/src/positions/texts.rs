//! The text of a book that its readers share: pieces of the newest book, within a bound, and what streams are sent.
//! Never: a row.

use api::rows::frame::Format;
use api::vendors::native_positions::PositionRows;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Most bytes of pieces that are kept of a book.
const TEXT_BYTES: usize = 64 << 20;

/// The text of a book as far as somebody has asked for it.
#[derive(Debug)]
pub struct BookTexts {
    /// `None`: a newer book has taken its place, and nothing is kept any more.
    pieces: Mutex<Option<KeptPieces>>,
    events: [OnceLock<Arc<LevelEvent>>; 5],
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
    /// A piece, written if nobody has asked for it before.
    pub fn piece(&self, name: PieceName, write: impl FnOnce() -> Option<Arc<[u8]>>) -> Option<Arc<[u8]>> {
        if let Some(known) = self.pieces().as_ref().and_then(|pieces| pieces.texts.get(&name)) {
            return Some(Arc::clone(known));
        }
        // two readers may write the same at once: neither waits for the other
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

    /// What streams are sent of a level.
    pub fn event(&self, level: PositionRows, write: impl FnOnce() -> (Vec<u8>, String)) -> &Arc<LevelEvent> {
        self.events[level as usize].get_or_init(|| {
            let (rows, head) = write();
            let mut hasher = DefaultHasher::new();
            hasher.write(&rows);
            let text = [head.as_bytes(), &rows, b"]}\n\n"].concat();
            Arc::new(LevelEvent { digest: hasher.finish(), text: Mutex::new(Some(text.into())) })
        })
    }

    /// Keeps no pieces any more.
    pub fn retire(&self) {
        *self.pieces() = None;
    }
}

/// The first rows of a level, as they are sent to streams.
#[derive(Debug)]
pub struct LevelEvent {
    /// Differs where a row does.
    pub digest: u64,
    /// `None`: it was taken away from streams that are too slow.
    text: Mutex<Option<Arc<[u8]>>>,
}

impl LevelEvent {
    /// Its text, unless it was taken away.
    #[must_use]
    pub fn text(&self) -> Option<Arc<[u8]>> {
        self.locked().clone()
    }

    /// Bytes of the text.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.locked().as_ref().map_or(0, |text| text.len())
    }

    /// Takes the text away.
    pub fn take_away(&self) {
        *self.locked() = None;
    }

    fn locked(&self) -> MutexGuard<'_, Option<Arc<[u8]>>> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
