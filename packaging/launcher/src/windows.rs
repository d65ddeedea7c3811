//! A child in this process's place, as Windows has no exec: it shares console and standard streams, gets Ctrl-C itself, ends
//! with this process, and its exit code is this one's.
#![allow(unsafe_code, reason = "calls of the system")]

use std::ffi::c_void;
use std::io::{Error, Result};
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::process::{Command, ExitCode};

type Handle = *mut c_void;

/// `JOBOBJECT_EXTENDED_LIMIT_INFORMATION`, with its parts in line; names are the system's.
#[repr(C)]
#[derive(Default)]
struct JobLimits {
    per_process_user_time: i64,
    per_job_user_time: i64,
    limit_flags: u32,
    minimum_working_set: usize,
    maximum_working_set: usize,
    active_processes: u32,
    affinity: usize,
    priority_class: u32,
    scheduling_class: u32,
    io_counters: [u64; 6],
    process_memory: usize,
    job_memory: usize,
    peak_process_memory: usize,
    peak_job_memory: usize,
}

/// Class of information that [`JobLimits`] is.
const EXTENDED_LIMITS: i32 = 9;
/// The child's own children, as a command of an alert, are not of the job.
const SILENT_BREAKAWAY: u32 = 0x1000;
/// All of the job end when its last handle is closed, however this process ends.
const KILL_ON_CLOSE: u32 = 0x2000;
const CTRL_BREAK: u32 = 1;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn CreateJobObjectW(attributes: *const c_void, name: *const u16) -> Handle;
    fn SetInformationJobObject(job: Handle, class: i32, information: *const c_void, bytes: u32) -> i32;
    fn AssignProcessToJobObject(job: Handle, process: Handle) -> i32;
    fn SetConsoleCtrlHandler(handler: Option<unsafe extern "system" fn(u32) -> i32>, add: i32) -> i32;
}

/// Starts a build with this process's arguments and waits for its end. Does not return where it could be started.
pub(crate) fn start(build: &Path) -> Result<ExitCode> {
    // SAFETY: the handler is a function that lives as long as the program.
    if unsafe { SetConsoleCtrlHandler(Some(left_to_the_child), 1) } == 0 {
        return Err(Error::last_os_error());
    }
    let job = job()?;
    let mut child = Command::new(build).args(std::env::args_os().skip(1)).spawn()?;
    // SAFETY: both handles are open. A child that has ended already needs no job, so a failure is none.
    unsafe { AssignProcessToJobObject(job, child.as_raw_handle()) };
    let status = child.wait()?;
    std::process::exit(status.code().unwrap_or(1))
}

/// A job whose processes end with this one; its handle stays open until then.
fn job() -> Result<Handle> {
    let limits = JobLimits { limit_flags: KILL_ON_CLOSE | SILENT_BREAKAWAY, ..JobLimits::default() };
    // SAFETY: no attributes and no name are asked for.
    let job = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
    // SAFETY: the job was just made or is null, which is refused; the pointer is to as many bytes as are named.
    let set = unsafe {
        SetInformationJobObject(job, EXTENDED_LIMITS, (&raw const limits).cast(), size_of::<JobLimits>() as u32)
    };
    if set == 0 { Err(Error::last_os_error()) } else { Ok(job) }
}

/// Keys are for the child, which has the same console. Where the console closes, the user logs off or the system ends, the
/// system ends this process when this returns, and the child with it: so it does not return, and the child may save.
unsafe extern "system" fn left_to_the_child(event: u32) -> i32 {
    while event > CTRL_BREAK {
        std::thread::park();
    }
    1
}
