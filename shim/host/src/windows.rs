//! What Windows is asked for that no library asks without unsafe code: a port for one program alone, threads that
//! yield to others, time to end before a console closes. Never: a socket, a thread, what an end means.
#![allow(unsafe_code, reason = "calls of the system")]

use std::io::{Error, Result};
use std::os::windows::io::{AsRawSocket, AsSocket};
use std::sync::OnceLock;
use windows_sys::Win32::Networking::WinSock::{SO_EXCLUSIVEADDRUSE, SOL_SOCKET, setsockopt};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, SetConsoleCtrlHandler};
use windows_sys::Win32::System::Threading::{
    GetCurrentThread, SetThreadPriority, THREAD_PRIORITY_BELOW_NORMAL, THREAD_PRIORITY_LOWEST,
};
use windows_sys::core::BOOL;

/// `TRUE`, as the system writes it.
const TRUE: BOOL = 1;
/// `FALSE`.
const FALSE: BOOL = 0;

/// What is called when the console closes.
static CLOSED: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Lets no other program bind the address that a socket is bound to next, not even one that asks to share it.
///
/// # Errors
/// The socket is bound already.
pub fn bind_exclusively(socket: &impl AsSocket) -> Result<()> {
    let yes = TRUE;
    let socket = usize::try_from(socket.as_socket().as_raw_socket()).map_err(Error::other)?;
    // SAFETY: the socket is open for as long as it is borrowed, and the option is a number of four bytes.
    let refused = unsafe {
        setsockopt(socket, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (&raw const yes).cast(), size_of::<BOOL>() as i32)
    };
    if refused == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// How much a thread yields to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yielding {
    /// It works when those of ordinary priority do not.
    Somewhat,
    /// It works when nobody else does.
    Most,
}

/// Lets this thread yield to others.
///
/// # Errors
/// The system refuses it.
pub fn yield_to_others(how: Yielding) -> Result<()> {
    let priority = match how {
        Yielding::Somewhat => THREAD_PRIORITY_BELOW_NORMAL,
        Yielding::Most => THREAD_PRIORITY_LOWEST,
    };
    // SAFETY: both calls are about the thread that makes them.
    let done = unsafe { SetThreadPriority(GetCurrentThread(), priority) };
    if done == FALSE { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Calls `end` when the window of the console is closed. The system then waits some seconds for the program to end by
/// itself; without this it ends it at once. There is one such call in a program: a second one changes nothing.
///
/// # Errors
/// The system refuses it.
pub fn before_console_closes(end: impl Fn() + Send + Sync + 'static) -> Result<()> {
    if CLOSED.set(Box::new(end)).is_err() {
        return Ok(());
    }
    // SAFETY: the handler is a function, which lives as long as the program.
    if unsafe { SetConsoleCtrlHandler(Some(closing), TRUE) } == FALSE { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Called by the system on a thread of its own.
unsafe extern "system" fn closing(event: u32) -> BOOL {
    if event <= CTRL_BREAK_EVENT {
        // a key, which is for the handler before this one
        return FALSE;
    }
    if let Some(end) = CLOSED.get() {
        end();
    }
    // the system ends the program when this returns
    loop {
        std::thread::park();
    }
}
