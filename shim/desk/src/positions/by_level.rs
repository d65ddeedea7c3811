//! Facts of a book by level of rows: made at the first request, or before it where readers asked the book before.
//! Never: a sum, a text.

use api::vendors::native_positions::PositionRows;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// One fact for each level.
#[derive(Debug)]
pub struct ByLevel<T>([LevelFact<T>; PositionRows::ALL.len()]);

#[derive(Debug)]
struct LevelFact<T> {
    made: OnceLock<T>,
    is_asked: AtomicBool,
}

impl<T> Default for ByLevel<T> {
    fn default() -> Self {
        Self(core::array::from_fn(|_| LevelFact { made: OnceLock::new(), is_asked: AtomicBool::new(false) }))
    }
}

impl<T> ByLevel<T> {
    /// The fact of a level for a reader, made now if it is missing.
    pub fn at(&self, level: PositionRows, make: impl FnOnce() -> T) -> &T {
        let fact = &self.0[level as usize];
        fact.is_asked.store(true, Ordering::Relaxed);
        fact.made.get_or_init(make)
    }

    /// Makes the facts of the levels that readers asked of the book before; levels that nobody asks for any more are
    /// left out from then on.
    pub fn make_as(&self, before: &Self, make: impl Fn(PositionRows) -> T) {
        let asked = |level: &PositionRows| before.0[*level as usize].is_asked.load(Ordering::Relaxed);
        PositionRows::ALL.into_iter().filter(asked).for_each(|level| _ = self.0[level as usize].made.set(make(level)));
    }

    /// The facts that are made.
    pub fn made(&self) -> impl Iterator<Item = &T> {
        self.0.iter().filter_map(|fact| fact.made.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_levels_that_were_asked_for_are_made_once_more_and_then_forgotten() {
        let books: [ByLevel<u32>; 3] = core::array::from_fn(|_| ByLevel::default());
        assert_eq!(*books[0].at(PositionRows::Total, || 1), 1);
        books[1].make_as(&books[0], |_| 2);
        assert_eq!(books[1].made().collect::<Vec<_>>(), [&2]);
        books[2].make_as(&books[1], |_| 3);
        assert_eq!(books[2].made().count(), 0, "no reader asked for it");
        assert_eq!(*books[1].at(PositionRows::Total, || 4), 2);
    }
}
