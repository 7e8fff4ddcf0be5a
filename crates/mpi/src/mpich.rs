//! The ABI that MPICH, MVAPICH and Intel MPI agreed on: a handle is a number.

use crate::MpiError;
use crate::calls::{Abi, Handles};
use libloading::os::unix::Library;
use std::ffi::c_int;
use std::ptr;

/// MPICH from 3.1 on (`libmpi.so.12`; Debian's is `libmpich.so.12`).
pub struct Mpich;

impl Abi for Mpich {
    type Handle = c_int;

    fn handles(_: &Library) -> Result<Handles<Self::Handle>, MpiError> {
        Ok(Handles {
            world: 0x4400_0000,
            byte: 0x4c00_010d,
            double: 0x4c00_080b,
            sum: 0x5800_0003,
            no_request: 0x2c00_0000,
            ignore: ptr::without_provenance_mut(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As mpi.h of MPICH and of those that agreed with it has them.
    #[test]
    fn handles_are_the_numbers_of_the_agreed_abi() {
        let told = Mpich::handles(&Library::this()).expect("numbers");
        let handles = [told.world, told.byte, told.double, told.sum, told.no_request];
        assert_eq!(handles, [0x4400_0000, 0x4c00_010d, 0x4c00_080b, 0x5800_0003, 0x2c00_0000]);
        assert_eq!(told.ignore.addr(), 1);
    }
}
