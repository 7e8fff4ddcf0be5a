//! The ABI of the standard (MPI 5.0, chapter 20): a handle is a pointer whose small value the
//! standard gives, the same in every implementation's `libmpi_abi`.

use crate::MpiError;
use crate::calls::{Abi, Handles};
use crate::symbols::symbol;
use libloading::os::unix::Library;
use std::ffi::{c_int, c_void};
use std::ptr;

/// Any implementation by the standard's numbers.
pub struct Standard;

impl Abi for Standard {
    type Handle = *mut c_void;

    fn handles(_: &Library) -> Result<Handles<Self::Handle>, MpiError> {
        Ok(Handles {
            world: ptr::without_provenance_mut(0x101),
            byte: ptr::without_provenance_mut(0x247),
            double: ptr::without_provenance_mut(0x214),
            sum: ptr::without_provenance_mut(0x21),
            no_request: ptr::without_provenance_mut(0x180),
            ignore: ptr::null_mut(),
        })
    }
}

/// Version of the standard's ABI that a library has, major and minor; `None` where it has its own
/// alone. It may be asked before the library is started.
pub fn version(library: &Library) -> Option<(c_int, c_int)> {
    let ask: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
        symbol(library, "MPI_Abi_get_version").ok()?;
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: both are numbers of ours.
    let code = unsafe { ask(&mut major, &mut minor) };
    // -1 is the standard's word for a library that has another.
    (code == 0 && major > 0).then_some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As appendix A of MPI 5.0 has them.
    #[test]
    fn handles_are_the_numbers_of_the_standard() {
        let told = Standard::handles(&Library::this()).expect("numbers");
        let handles = [told.world, told.byte, told.double, told.sum, told.no_request, told.ignore];
        assert_eq!(handles.map(|it| it.addr()), [0x101, 0x247, 0x214, 0x21, 0x180, 0]);
    }

    #[test]
    fn a_program_without_mpi_has_no_abi_of_the_standard() {
        assert_eq!(version(&Library::this()), None);
    }
}
