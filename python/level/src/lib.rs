//! A library of one function, which the Python package loads first: it chooses the build of the module that this
//! processor can run. It is built for every processor of its architecture. Never: a symbol of Python, a computation.
#![allow(unsafe_code, reason = "a function with a name for C, and the text that it is given")]

use launcher::choice;
use launcher::level::Processor;
use std::ffi::{CStr, CString, OsStr, c_char};

/// Returns the level to run: the wanted one, or that of the processor if `wanted` is empty; else the reason for none.
/// The text is never freed, since a process asks once.
///
/// # Safety
///
/// `wanted` is null or a text that ends in a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn greeksd_level(wanted: *const c_char) -> *const c_char {
    // SAFETY: the caller's promise.
    let wanted = (!wanted.is_null()).then(|| unsafe { CStr::from_ptr(wanted) }.to_string_lossy().into_owned());
    let level = choice::level(&Processor::here(), wanted.as_deref().map(OsStr::new));
    let text = level.map_or_else(|refusal| refusal.to_string(), |level| level.name().to_owned());
    CString::new(text).unwrap_or_default().into_raw()
}
