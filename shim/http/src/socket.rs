//! A WebSocket (RFC 6455): messages of a client and of an app over one connection, with pings, close codes and bounds.
//! `tungstenite` reads frames and answers pings and closes; messages of the app go out without a buffer of their own.
//! Never: the meaning of a message, a socket of the system.

use super::framing::Progress;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};
use tungstenite::error::CapacityError;
use tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};
use tungstenite::protocol::frame::{CloseFrame, FrameHeader, Utf8Bytes};
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

/// Size of the buffer for input of a socket, bytes; it grows for a longer message.
const INPUT: usize = 512;
/// Parts of the patience with a silent client after which it is pinged.
const PINGS: u32 = 4;

/// The app's side of a WebSocket. It is called on a reactor thread, so it must not block.
pub trait Talk: Send {
    /// Takes a message of the client, between two messages of the app.
    fn hear(&mut self, text: &str);

    /// Appends the next piece of a message to `out`, about [`super::limits::PIECE_BYTES`].
    fn say(&mut self, out: &mut Vec<u8>) -> Said;
}

/// Outcome of [`Talk::say`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A piece of a message.
    Piece {
        /// True for bytes, false for text.
        is_binary: bool,
        /// True if the message ends with it.
        is_last: bool,
    },
    /// Nothing for now.
    Nothing,
    /// Nothing any more; the client may connect again later.
    Ended(&'static str),
}

/// Input of a turn of a socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct SocketTurn<'a> {
    /// Bytes that the client has sent.
    pub(super) received: &'a [u8],
    pub(super) now: Instant,
    /// Time for which a client may be silent; it is pinged before.
    pub(super) patience: Duration,
    /// True if the server stops.
    pub(super) is_stopping: bool,
}

/// An open WebSocket.
pub(super) struct SocketBody {
    talk: Box<dyn Talk>,
    wire: WebSocket<Pipe>,
    /// True between two pieces of a message.
    is_within: bool,
    /// True if received bytes may hold a further message.
    has_more: bool,
    received_at: Instant,
    is_pinged: bool,
}

/// Bytes between the socket and the protocol.
#[derive(Debug, Default)]
struct Pipe {
    received: Vec<u8>,
    read: usize,
    sent: Vec<u8>,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = (&self.received[self.read..]).read(buffer)?;
        self.read += n;
        if self.read == self.received.len() {
            (self.received, self.read) = (Vec::new(), 0);
        }
        if n == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(n) }
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sent.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for SocketBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SocketBody").field("received_at", &self.received_at).finish_non_exhaustive()
    }
}

impl SocketBody {
    /// A socket just opened, whose client sends messages of `most` bytes at most.
    pub(super) fn new(talk: Box<dyn Talk>, most: usize, now: Instant) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(INPUT)
            .write_buffer_size(0)
            .max_message_size(Some(most))
            .max_frame_size(Some(most));
        let wire = WebSocket::from_raw_socket(Pipe::default(), Role::Server, Some(config));
        Self { talk, wire, is_within: false, has_more: false, received_at: now, is_pinged: false }
    }

    /// True if all received bytes are used: more may be read.
    pub(super) fn wants_input(&self) -> bool {
        !self.is_within && !self.has_more
    }

    /// Bytes of memory, without those of the app.
    pub(super) fn bytes(&self) -> usize {
        let pipe = self.wire.get_ref();
        size_of::<Self>() + INPUT + pipe.received.capacity() + pipe.sent.capacity()
    }

    /// Takes at most one message of what was received, and appends what is to be sent to `out`; `piece` is a buffer.
    pub(super) fn next(&mut self, turn: SocketTurn<'_>, out: &mut Vec<u8>, piece: &mut Vec<u8>) -> Progress {
        let silent = turn.now.saturating_duration_since(self.received_at);
        if !turn.received.is_empty() {
            self.wire.get_mut().received.extend_from_slice(turn.received);
            (self.has_more, self.received_at, self.is_pinged) = (true, turn.now, false);
        } else if self.wants_input() && silent >= turn.patience {
            return Progress::Broken;
        } else if self.wants_input() && !self.is_pinged && silent >= turn.patience / PINGS {
            self.is_pinged = true;
            push_frame(out, OpCode::Control(Control::Ping), true, &[]);
        }
        let progress = if turn.is_stopping {
            self.close(CloseCode::Away, "the server stops");
            Progress::Done
        } else {
            self.hear()
        };
        out.append(&mut self.wire.get_mut().sent);
        if progress == Progress::Done { progress } else { self.say(out, piece) }
    }

    /// Ends after a fault of the app.
    pub(super) fn fail(&mut self, out: &mut Vec<u8>) {
        self.close(CloseCode::Error, "internal error");
        out.append(&mut self.wire.get_mut().sent);
    }

    /// Hears at most one message; [`Progress::Done`] after a close.
    fn hear(&mut self) -> Progress {
        while self.has_more && !self.is_within {
            let (code, reason) = match self.wire.read() {
                Ok(Message::Text(text)) => {
                    self.talk.hear(&text);
                    return Progress::More;
                }
                Ok(Message::Binary(_)) => (CloseCode::Unsupported, "messages are text"),
                // pings and closes are answered by the next call
                Ok(_) => continue,
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                    self.has_more = false;
                    break;
                }
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => return Progress::Done,
                Err(Error::Capacity(CapacityError::MessageTooLong { .. })) => (CloseCode::Size, "message too long"),
                Err(Error::Utf8(_)) => (CloseCode::Invalid, "text is not UTF-8"),
                Err(_) => (CloseCode::Protocol, "not a frame of a client"),
            };
            self.close(code, reason);
            return Progress::Done;
        }
        Progress::Later
    }

    fn say(&mut self, out: &mut Vec<u8>, piece: &mut Vec<u8>) -> Progress {
        piece.clear();
        match self.talk.say(piece) {
            Said::Piece { is_binary, is_last } => {
                let first = if is_binary { Data::Binary } else { Data::Text };
                let data = if self.is_within { Data::Continue } else { first };
                push_frame(out, OpCode::Data(data), is_last, piece);
                self.is_within = !is_last;
                Progress::More
            }
            Said::Nothing if self.has_more => Progress::More,
            Said::Nothing => Progress::Later,
            Said::Ended(reason) => {
                self.close(CloseCode::Again, reason);
                out.append(&mut self.wire.get_mut().sent);
                Progress::Done
            }
        }
    }

    fn close(&mut self, code: CloseCode, reason: &'static str) {
        // the pipe takes every byte; a socket that is closed already has sent its close
        let _ = self.wire.close(Some(CloseFrame { code, reason: Utf8Bytes::from_static(reason) }));
    }
}

fn push_frame(out: &mut Vec<u8>, opcode: OpCode, is_final: bool, payload: &[u8]) {
    let header = FrameHeader { is_final, opcode, ..FrameHeader::default() };
    // writing to memory does not fail
    let _ = header.format(payload.len() as u64, out);
    out.extend_from_slice(payload);
}
