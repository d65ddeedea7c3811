//! Rows of columns to bytes: a table of fields ([`field`]) in a format ([`frame`]) becomes a row with open slots
//! ([`template`]), which the cursor of an answer ([`stream`]) fills row by row. Never: a vendor, a filter, a socket.

pub mod binary;
pub mod clock;
pub mod field;
pub mod frame;
pub mod grouped;
pub mod identity;
pub mod layout;
pub mod listing;
pub mod number;
pub mod source;
pub mod stream;
pub mod table;
pub mod template;
