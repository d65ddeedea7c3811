//! Kinds of days: session, early close or closed.

/// Kind of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Day {
    /// No session.
    Closed,
    /// 09:30 to 13:00.
    Early,
    /// 09:30 to 16:00.
    Open,
}

impl Day {
    /// Reads `closed`, `early` or `open`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // one spelling only: the table is ours, and a typing error must be found when it is read
        match text {
            "closed" => Some(Self::Closed),
            "early" => Some(Self::Early),
            "open" => Some(Self::Open),
            _ => None,
        }
    }
}
