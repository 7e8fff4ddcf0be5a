//! Open MPI's ABI: a handle is the address of an object in the library, found by its symbol.

use crate::MpiError;
use crate::calls::{Abi, Handles};
use crate::symbols::symbol;
use libloading::os::unix::Library;
use std::ffi::c_void;
use std::ptr;

/// The symbol that only Open MPI's library has.
pub const MARK: &str = "ompi_mpi_comm_world";

/// Open MPI 3, 4 and 5 (`libmpi.so.40`), and what is built from it.
pub struct OpenMpi;

impl Abi for OpenMpi {
    type Handle = *mut c_void;

    fn handles(library: &Library) -> Result<Handles<Self::Handle>, MpiError> {
        Ok(Handles {
            world: symbol(library, MARK)?,
            byte: symbol(library, "ompi_mpi_byte")?,
            double: symbol(library, "ompi_mpi_double")?,
            sum: symbol(library, "ompi_mpi_op_sum")?,
            no_request: symbol(library, "ompi_request_null")?,
            ignore: ptr::null_mut(),
        })
    }
}
