//! Passes over blocks of rows: values and Greeks at the fitted volatility, in native units. Never: calibration, text.
