//! The numbers of one chain, a column for each row of the [table of columns](kernel::columns).

pub use kernel::columns::{Col, Group};
pub use kernel::greeks::Unit;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Numbers that a block of columns has room for: 64 KB.
const BLOCK_NUMBERS: usize = 8192;

/// The room of a block is a multiple of this many numbers (2 KB): with few sizes, a spare block fits more often.
const SPARE_STEP: usize = 256;

/// Bytes of spare blocks at most: several batches of the market loop.
const SPARE_BYTES: usize = 64 << 20;

/// Columns that no pass computes, in their order.
pub type LateColumns = [Vec<f64>; Col::ALL.len() - Col::OF_PASS.len()];

/// The columns of one chain: one number per contract, each column padded to whole lanes. NaN means missing and nothing
/// else; infinity never occurs.
///
/// Several columns share a block. Blocks are of about one size, except those of very small and very wide chains. A pass
/// over the market replaces every chain, and a block of one then fits another.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    stride: usize,
    rows: usize,
    /// Columns in a block, as a power of two: places are looked up for every block of contracts, without a division.
    /// The last block may have fewer.
    shift: u32,
    blocks: Vec<Vec<f64>>,
    /// Columns that no pass computes, filled when a reader first asks for them.
    late: OnceLock<Box<LateColumns>>,
    /// A column of NaN, shown in place of each late column until a reader has asked for them.
    missing: OnceLock<Vec<f64>>,
}

impl Columns {
    /// Bytes held beside itself.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let numbers: usize = self.blocks.iter().map(Vec::capacity).sum();
        let late = self.late.get().map_or(0, |late| late.iter().map(Vec::capacity).sum());
        let missing = self.missing.get().map_or(0, Vec::capacity);
        self.blocks.capacity() * size_of::<Vec<f64>>() + (numbers + late + missing) * size_of::<f64>()
    }

    /// `rows` contracts, every number missing.
    #[must_use]
    pub fn missing(rows: usize) -> Self {
        Self::missing_in(rows, &SpareBlocks::default())
    }

    /// `rows` contracts, every number missing, in blocks of `spare` where it has some.
    #[must_use]
    pub fn missing_in(rows: usize, spare: &SpareBlocks) -> Self {
        let stride = rows.next_multiple_of(kernel::lanes::BLOCK);
        let shift = (BLOCK_NUMBERS / stride.max(1)).clamp(1, Col::OF_PASS.len()).ilog2();
        let block = |columns: &[Col]| {
            let numbers = columns.len() * stride;
            let mut block = spare.take(numbers);
            block.resize(numbers, f64::NAN);
            block
        };
        let blocks = Col::OF_PASS.chunks(1 << shift).map(block).collect();
        Self { stride, rows, shift, blocks, ..Self::default() }
    }

    /// The rows of slices that follow each other, of so many rows each, to be written side by side.
    pub fn split(&mut self, rows: impl Iterator<Item = usize>) -> Vec<ColumnRows<'_>> {
        let mut slices: Vec<ColumnRows<'_>> = rows.map(ColumnRows::new).collect();
        let columns = self.blocks.iter_mut().flat_map(|block| block.chunks_exact_mut(self.stride.max(1)));
        for (i, mut rest) in columns.enumerate() {
            for slice in &mut slices {
                (slice.columns[i], rest) = rest.split_at_mut(slice.rows);
            }
        }
        slices
    }

    /// The block of a column, and where it begins there.
    fn place(&self, col: Col) -> (usize, usize) {
        let i = col as usize;
        (i >> self.shift, (i & ((1 << self.shift) - 1)) * self.stride)
    }

    /// Leaves its blocks to other columns.
    pub fn leave(self, spare: &SpareBlocks) {
        self.blocks.into_iter().for_each(|block| spare.put(block));
    }

    /// One number per row, in row order.
    #[must_use]
    pub fn get(&self, col: Col) -> &[f64] {
        if let Some(late) = col.late() {
            let missing = || self.missing.get_or_init(|| vec![f64::NAN; self.rows]);
            return self.late.get().map_or_else(missing, |columns| &columns[late]);
        }
        let (block, start) = self.place(col);
        self.blocks.get(block).map_or(&[], |block| &block[start..start + self.rows])
    }

    /// Fills the columns that no pass computes, unless they are: `fill` gets them with every number missing.
    pub fn fill_late(&self, fill: impl FnOnce(LateColumns) -> LateColumns) {
        self.late.get_or_init(|| Box::new(fill(LateColumns::default().map(|_| vec![f64::NAN; self.rows]))));
    }

    /// The numbers of a column by row, to be written before the chain is published.
    pub fn get_mut(&mut self, col: Col) -> &mut [f64] {
        if let Some(late) = col.late() {
            self.fill_late(|columns| columns);
            return self.late.get_mut().map_or(&mut [], |columns| &mut columns[late]);
        }
        let ((block, start), rows) = (self.place(col), self.rows);
        self.blocks.get_mut(block).map_or(&mut [], |block| &mut block[start..start + rows])
    }
}

/// The rows of one slice in the columns that passes compute.
#[derive(Debug)]
pub struct ColumnRows<'a> {
    rows: usize,
    columns: [&'a mut [f64]; Col::OF_PASS.len()],
}

impl ColumnRows<'_> {
    fn new(rows: usize) -> Self {
        Self { rows, columns: core::array::from_fn(|_| Default::default()) }
    }

    /// One number per row, in row order.
    ///
    /// # Domain  a column of a pass
    #[must_use]
    pub fn get(&self, col: Col) -> &[f64] {
        self.columns[col as usize]
    }

    /// The numbers of a column by row, to be written.
    ///
    /// # Domain  a column of a pass
    pub fn get_mut(&mut self, col: Col) -> &mut [f64] {
        self.columns[col as usize]
    }
}

/// Blocks of columns that nobody reads any more, kept for columns that are made later on any thread. The allocator of
/// glibc has an arena for each thread and seldom returns what one held, while the thread that computes a chain changes
/// from pass to pass.
#[derive(Debug, Default)]
pub struct SpareBlocks(Mutex<Spare>);

#[derive(Debug, Default)]
struct Spare {
    /// Free blocks by capacity.
    blocks: BTreeMap<usize, Vec<Vec<f64>>>,
    bytes: usize,
}

impl SpareBlocks {
    /// An empty block with room for so many numbers, and for an eighth more at most and [`SPARE_STEP`].
    fn take(&self, numbers: usize) -> Vec<f64> {
        let room = numbers.next_multiple_of(SPARE_STEP);
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fitting = spare.blocks.range_mut(room..=room + room / 8);
        let Some(mut block) = fitting.find_map(|(_, blocks)| blocks.pop()) else { return Vec::with_capacity(room) };
        spare.bytes -= block.capacity() * size_of::<f64>();
        drop(spare);
        block.clear();
        block
    }

    /// Keeps a free block, unless there are many already.
    fn put(&self, block: Vec<f64>) {
        let (room, bytes) = (block.capacity(), block.capacity() * size_of::<f64>());
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if room.is_multiple_of(SPARE_STEP) && spare.bytes + bytes <= SPARE_BYTES {
            spare.bytes += bytes;
            spare.blocks.entry(room).or_default().push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_slices_follow_each_other_in_blocks_that_others_left() {
        let spare = SpareBlocks::default();
        assert!(Columns::default().get(Col::ALL[0]).is_empty());
        for lengths in [vec![], vec![0], vec![1], vec![7, 9], vec![300, 5, 0, 11], vec![9000, 20_000]] {
            let numbers =
                |part: usize, col: Col, row: usize| (part * 100_000 + row) as f64 + 0.01 * f64::from(col as u8);
            let mut joined = Columns::missing_in(lengths.iter().sum(), &spare);
            for (part, mut rows) in joined.split(lengths.iter().copied()).into_iter().enumerate() {
                for &col in Col::OF_PASS {
                    assert!(rows.get(col).len() == lengths[part] && rows.get(col).iter().all(|x| x.is_nan()));
                    rows.get_mut(col).iter_mut().enumerate().for_each(|(row, x)| *x = numbers(part, col, row));
                }
            }
            for &col in Col::OF_PASS {
                let parts = lengths.iter().enumerate();
                let all: Vec<f64> =
                    parts.flat_map(|(part, &rows)| (0..rows).map(move |row| numbers(part, col, row))).collect();
                assert_eq!(joined.get(col), all, "{lengths:?}");
            }
            let rows = lengths.iter().sum::<usize>() + Col::ALL.len();
            let most = (rows + 8) * Col::ALL.len() * 8 * 9 / 8 + Col::ALL.len() * SPARE_STEP * 8;
            assert!(joined.bytes() <= most + 1000, "{lengths:?}: {}", joined.bytes());
            // the next ones are made of what these leave
            joined.leave(&spare);
        }
    }

    #[test]
    fn spare_blocks_serve_what_is_about_their_size_and_are_bounded() {
        let spare = SpareBlocks::default();
        let held = || spare.0.lock().unwrap().bytes;
        spare.put(spare.take(1000));
        assert_eq!(held(), 8 * 1024);
        assert_eq!(spare.take(500).capacity(), 512, "twice as large is too large");
        assert_eq!((spare.take(950).capacity(), held()), (1024, 0));
        spare.put(Vec::with_capacity(SPARE_STEP + 1));
        (0..3).for_each(|_| spare.put(Vec::with_capacity(SPARE_BYTES / 16)));
        assert_eq!(held(), SPARE_BYTES, "none of another size, and two of three");
    }
}
