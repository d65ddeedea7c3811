//! The bounds of one question to the market, in one place; those of connections are in [`http::limits`].

/// Maximum numbers in a list (`delta=.3,.5`, `strike=100,105`, `dte=7,30`). Each costs a search in every expiration of
/// a chain, and a request head of 32 KB has room for 16,000.
pub const NUMBERS: usize = 64;

/// Maximum bytes of an answer about many past moments that goes column by column: such an answer is built whole in
/// memory.
pub const COLUMNS_BYTES: usize = 64 << 20;

/// Maximum bytes of all answers that are built whole in memory at one time: four of the largest.
pub const ALL_COLUMNS_BYTES: usize = 4 * COLUMNS_BYTES;

/// Maximum cells of a table of numbers of names, which is made whole: about 100 MB of them, and 60 MB of text.
pub const CELLS: usize = 3_000_000;

/// Names (underlyings, roots and contracts together) that the small reactor looks up itself: a few microseconds each
/// for those without row filters. A longer list is answered where streams are.
pub const NAMES_AT_ONCE: usize = 16;

/// Symbols that the small reactor lists itself: some microseconds each. More are listed where streams are.
pub const SYMBOLS_AT_ONCE: usize = 100;

/// Rows of a chain that the small reactor looks at one by one: about half a millisecond. A filter of rows on a longer
/// chain is answered where streams are.
pub const ROWS_AT_ONCE: u32 = 20_000;
