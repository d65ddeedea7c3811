//! Black-76: value and every derivative of European options in closed form.
