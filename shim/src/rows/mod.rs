//! Rows of columns to bytes: a table of fields ([`field`]) in a format ([`frame`]) becomes a row with blanks
//! ([`template`]), which the cursor of an answer ([`mod@write`]) fills row by row. Never: a vendor, a filter, a socket.

pub mod clock;
pub mod derived;
pub mod field;
pub mod frame;
pub mod heading;
pub mod identity;
pub mod listing;
pub mod number;
pub mod page;
pub mod sheet;
pub mod template;
pub mod write;
