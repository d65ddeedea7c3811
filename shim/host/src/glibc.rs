//! The allocator of glibc. Never: an allocation.
#![allow(unsafe_code, reason = "a call of C")]

/// Blocks from this size on, bytes, go back to the system when they are freed. By itself glibc raises this bound to the
/// largest block that was freed so far, 32 MB at most, and then keeps the room of large blocks between small ones: with
/// a book of 100,000 positions that is put, streamed and read (`tests/soak/book.py`, 4 and 2 minutes) the daemon took
/// 463 MB at most, and takes 259.
const RETURNED: i32 = 256 * 1024;

/// Has large blocks returned to the system when they are freed; call it before there are other threads.
pub fn return_large_blocks() {
    // SAFETY: `mallopt` sets a number of the allocator, and no other thread is there.
    let is_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED) };
    debug_assert!(is_set == 1, "glibc knows the bound");
}
