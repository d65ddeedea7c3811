//! Calls of Windows for which no library has a safe function: exclusive ports, thread priorities, and the close event
//! of the console. Never: a socket, a thread.
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

/// The system's `TRUE`.
const TRUE: BOOL = 1;
/// The system's `FALSE`.
const FALSE: BOOL = 0;

/// Function to call when the console closes.
static CLOSED: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Makes the next address that a socket is bound to exclusive, even against programs that ask to share it.
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

/// Lowers the priority of this thread below the normal one, to the lowest one unless `somewhat`.
///
/// # Errors
/// The system refuses it.
pub fn yield_to_others(somewhat: bool) -> Result<()> {
    let priority = if somewhat { THREAD_PRIORITY_BELOW_NORMAL } else { THREAD_PRIORITY_LOWEST };
    // SAFETY: both calls are about the thread that makes them.
    let done = unsafe { SetThreadPriority(GetCurrentThread(), priority) };
    if done == FALSE { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Calls `end` when the window of the console is closed. The system then waits some seconds for the program to end;
/// without this it kills the program at once. Only the first call in a program has an effect.
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

/// The handler, which the system calls on a thread of its own.
unsafe extern "system" fn closing(event: u32) -> BOOL {
    if event <= CTRL_BREAK_EVENT {
        // Ctrl-C and Ctrl-Break are for the previous handler
        return FALSE;
    }
    if let Some(end) = CLOSED.get() {
        end();
    }
    // the system kills the program when this returns
    loop {
        std::thread::park();
    }
}
