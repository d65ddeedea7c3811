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
        let mut columns = Self::default();
        columns.reset(rows);
        columns
    }

    /// Resizes the columns to `rows` contracts, with every number missing.
    pub fn reset(&mut self, rows: usize) {
        self.lay_out(rows);
        let (in_block, stride) = (1 << self.shift, self.stride);
        for (block, columns) in self.blocks.iter_mut().zip(Col::OF_PASS.chunks(in_block)) {
            block.clear();
            block.resize(columns.len() * stride, f64::NAN);
        }
    }

    /// The rows of several columns one after the other, in blocks of `spare` where it has some.
    #[must_use]
    pub fn joined(parts: &[&Self], spare: &SpareBlocks) -> Self {
        let mut all = Self::default();
        all.lay_out(parts.iter().map(|part| part.rows).sum());
        for (block, columns) in all.blocks.iter_mut().zip(Col::OF_PASS.chunks(1 << all.shift)) {
            *block = spare.take(columns.len() * all.stride);
            for (i, &col) in (1..).zip(columns) {
                parts.iter().for_each(|part| block.extend_from_slice(part.get(col)));
                block.resize(i * all.stride, f64::NAN);
            }
        }
        all
    }

    /// The blocks of `rows` contracts, as they are until they are filled.
    fn lay_out(&mut self, rows: usize) {
        self.rows = rows;
        (self.late, self.missing) = (OnceLock::new(), OnceLock::new());
        self.stride = rows.next_multiple_of(kernel::lanes::BLOCK);
        let in_block = (BLOCK_NUMBERS / self.stride.max(1)).clamp(1, Col::OF_PASS.len());
        self.shift = in_block.ilog2();
        self.blocks.resize_with(Col::OF_PASS.len().div_ceil(1 << self.shift), Vec::new);
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
    fn columns_of_any_length_are_joined_in_their_order() {
        let spare = SpareBlocks::default();
        assert!(Columns::default().get(Col::ALL[0]).is_empty());
        for lengths in [vec![], vec![0], vec![1], vec![7, 9], vec![300, 5, 0, 11], vec![9000, 20_000]] {
            let numbers =
                |part: usize, col: Col, row: usize| (part * 100_000 + row) as f64 + 0.01 * f64::from(col as u8);
            let parts: Vec<Columns> = lengths
                .iter()
                .map(|&rows| Columns::missing(rows))
                .enumerate()
                .map(|(part, mut columns)| {
                    for &col in Col::OF_PASS {
                        columns.get_mut(col).iter_mut().enumerate().for_each(|(row, x)| *x = numbers(part, col, row));
                    }
                    columns
                })
                .collect();
            let joined = Columns::joined(&parts.iter().collect::<Vec<_>>(), &spare);
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
    fn columns_that_are_used_again_forget_what_they_held() {
        let mut columns = Columns::missing(5000);
        columns.get_mut(Col::Delta).fill(1.0);
        for rows in [3, 700, 0, 5000] {
            columns.reset(rows);
            assert!(Col::ALL.iter().all(|&col| columns.get(col).len() == rows));
            assert!(Col::ALL.iter().all(|&col| columns.get(col).iter().all(|x| x.is_nan())));
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
