//! The level that the Python package gets for this processor.

#![allow(unsafe_code, clippy::unwrap_used, reason = "a test of a function for C")]

use launcher::level::Processor;
use level::greeksd_level;
use std::ffi::CStr;
use std::ptr::null;

fn level_for(wanted: Option<&CStr>) -> String {
    // SAFETY: a text of this test, or null; what comes back is never freed.
    let text = unsafe { CStr::from_ptr(greeksd_level(wanted.map_or(null(), CStr::as_ptr))) };
    text.to_str().unwrap().to_owned()
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_level_is_that_of_the_processor() {
    let here = Processor::here().level().name();
    assert_eq!(level_for(None), here);
    assert_eq!(level_for(Some(c"")), here);
    assert_eq!(level_for(Some(c"x86-64-v2")), "x86-64-v2");
    assert_eq!(level_for(Some(c"avx2")), "GREEKSD_LEVEL=avx2: levels are x86-64-v2, x86-64-v3 and x86-64-v4");
}
