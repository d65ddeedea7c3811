//! The HTTP server.
pub mod percent;
