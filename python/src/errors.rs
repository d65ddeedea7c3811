//! The exceptions of the package, which are defined in Python. Never: a text.

pyo3::import_exception!(greeksd.errors, InputError);
pyo3::import_exception!(greeksd.errors, JobError);
