//! An HTTP/1.1 server for one local program: GET and HEAD, small answers at once, long ones streamed.
//!
//! One *small* reactor thread accepts connections, parses requests and sends answers that fit into one buffer. A
//! connection with a longer answer moves to one of the *bulk* reactors, which run at a lower priority, while it
//! streams, and comes back for its next request. So a small request never waits for the rows of another client (a
//! thread that mostly sleeps runs as soon as it wakes). Each thread has one output buffer; a connection holds only
//! bytes that a slow client has not read.
//!
//! The server is generic over an [`App`]. Never: a vendor, a Greek, a row.
//!
//! # Rooms
//!
//! - `listeners`, `reactor`, `context`, `connection`: sockets and the threads that serve them; `request`, `limits`,
//!   `framing`: heads, bounds, bodies that are written while they are sent.
//! - `boundary`: which hosts and pages are answered.
//! - `body`: bodies of requests, counted before their first byte.
//! - `conditional`: which version or part a client wants; `cache`: bodies that several answers share.
//! - `exchange`: a request to its reply, and the one place that writes a head and counts.
//! - `socket`: messages of a WebSocket.

#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
#![warn(clippy::print_stderr)]

mod body;
mod boundary;
mod cache;
mod conditional;
mod connection;
mod context;
mod exchange;
mod framing;
pub mod limits;
mod listeners;
pub mod metrics;
pub mod percent;
mod reactor;
mod request;
mod response;
mod server;
mod socket;

pub use body::ReceivedBody;
pub use framing::{Progress, Stream};
pub use limits::Limits;
pub use listeners::ListenError;
pub use metrics::Metrics;
pub use request::{Method, Request, length_of_head};
pub use response::{Answer, Answered, App, Awaited, Body, HeavyAnswer};
pub use server::{Server, ServerConfig};
pub use socket::{Said, Talk};
