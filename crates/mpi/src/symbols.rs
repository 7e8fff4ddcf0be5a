//! Symbols of a library by name.

use crate::MpiError;
use libloading::os::unix::Library;

/// A symbol of the library, as the type that MPI's standard says that it has.
pub(crate) fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, MpiError> {
    // SAFETY: only called with names and types of the standard's C bindings, and with pointers for
    // objects; the library is never unloaded.
    let found = unsafe { library.get::<T>(name) };
    found.map(|found| *found).map_err(|_| MpiError::Strange {
        library: "the library".to_owned(),
        symbol: name.to_owned(),
    })
}
