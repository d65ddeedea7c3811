//! The reader of pushed tables in a build without the feature `tables`: refuses every stream.

use super::pushed::{PushRefusal, PushedSoFar};
use feeds::lines::LineParser;
use kernel::records::Batch;
use kernel::report::Report;

/// A stream of Arrow, which is not read.
#[derive(Debug, Default)]
pub struct AbsentTable {}

impl AbsentTable {
    /// False: there is no stream.
    #[must_use]
    pub fn has_schema(&self) -> bool {
        false
    }

    /// Zero: it holds nothing.
    #[must_use]
    pub fn bytes(&self) -> usize {
        0
    }

    /// True: no message has begun.
    #[must_use]
    pub fn is_between(&self) -> bool {
        true
    }

    /// Refuses a stream.
    ///
    /// # Errors
    /// Always.
    pub fn read(
        &mut self,
        _: &[u8],
        _: &mut LineParser,
        _: &mut impl FnMut(Batch, Report),
    ) -> Result<PushedSoFar, PushRefusal> {
        Err(PushRefusal::Absent)
    }
}
