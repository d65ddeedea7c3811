//! The numbers of one chain, a column for each row of the [table of columns](kernel::columns).

pub use kernel::columns::{Col, Group};
pub use kernel::greeks::Unit;

/// The columns of one chain: one contiguous block of numbers, column after column, each padded to whole lanes.
/// NaN means missing and nothing else; infinity never occurs.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    stride: usize,
    rows: usize,
    data: Vec<f64>,
}

impl Columns {
    /// Bytes held beside itself.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.data.capacity() * size_of::<f64>()
    }

    /// `rows` contracts, every number missing.
    #[must_use]
    pub fn missing(rows: usize) -> Self {
        let stride = rows.next_multiple_of(kernel::lanes::BLOCK);
        Self { stride, rows, data: vec![f64::NAN; stride * Col::ALL.len()] }
    }

    /// Makes room for `rows` contracts, every number missing.
    pub fn reset(&mut self, rows: usize) {
        self.stride = rows.next_multiple_of(kernel::lanes::BLOCK);
        self.rows = rows;
        self.data.clear();
        self.data.resize(self.stride * Col::ALL.len(), f64::NAN);
    }

    /// The rows of several columns one after the other.
    #[must_use]
    pub fn joined(parts: &[&Self]) -> Self {
        let rows = parts.iter().map(|part| part.rows).sum::<usize>();
        let stride = rows.next_multiple_of(kernel::lanes::BLOCK);
        let mut data = Vec::with_capacity(stride * Col::ALL.len());
        for (i, &col) in (1..).zip(Col::ALL) {
            parts.iter().for_each(|part| data.extend_from_slice(part.get(col)));
            data.resize(i * stride, f64::NAN);
        }
        Self { stride, rows, data }
    }

    /// One number per row, in row order.
    #[must_use]
    pub fn get(&self, col: Col) -> &[f64] {
        let start = col as usize * self.stride;
        &self.data[start..start + self.rows]
    }

    /// The same, to write, before the chain is published.
    pub fn get_mut(&mut self, col: Col) -> &mut [f64] {
        let start = col as usize * self.stride;
        &mut self.data[start..start + self.rows]
    }
}
