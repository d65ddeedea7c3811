//! What can fail outside the numbers. Never: text built on the way up.
