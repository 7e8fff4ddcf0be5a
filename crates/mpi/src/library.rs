//! Which library there is, and whether it is of the launcher's implementation.

use crate::calls::World;
use crate::mpich::Mpich;
use crate::openmpi::{self, OpenMpi};
use crate::symbols::symbol;
use crate::{Mpi, MpiError};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{c_char, c_int};
use std::fmt;

/// What a handle is: a pointer or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// That of Open MPI.
    OpenMpi,
    /// That of MPICH, MVAPICH and Intel MPI.
    Mpich,
}

impl Flavour {
    /// File names of its libraries, the likeliest first.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::OpenMpi => &["libmpi.so.40"],
            Self::Mpich => &["libmpich.so.12", "libmpi.so.12"],
        }
    }

    /// Whose launcher set these variables: the implementation, and how many ranks it started.
    pub fn of_launcher(variable: impl Fn(&str) -> Option<String>) -> Option<(Self, usize)> {
        let number = |name: &str| variable(name)?.parse().ok();
        if let Some(ranks) = number("OMPI_COMM_WORLD_SIZE") {
            return Some((Self::OpenMpi, ranks));
        }
        if let Some(ranks) = number("PMI_SIZE") {
            return Some((Self::Mpich, ranks));
        }
        // Slurm's PMIx plugin tells the rank alone; the number of tasks is Slurm's own.
        variable("PMIX_RANK")?;
        Some((Self::OpenMpi, number("SLURM_NTASKS").unwrap_or(1)))
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
        })
    }
}

/// A library that is loaded and not yet started.
pub struct Loaded {
    library: &'static Library,
    pub flavour: Flavour,
    /// What it says that it is, one line: `Open MPI v4.1.4`, `MPICH 4.0.2, ch4:ucx`.
    pub version: String,
}

/// Loads a library: the file that is named, else one that fits the launcher, else any.
pub fn load(named: Option<&str>, wanted: Option<Flavour>) -> Result<Loaded, MpiError> {
    let mut why = String::from("no name is known");
    let any = [Flavour::OpenMpi, Flavour::Mpich];
    let flavours = wanted.as_ref().map_or(&any[..], std::slice::from_ref);
    let known = flavours.iter().flat_map(|flavour| flavour.files().iter().copied());
    let files: Vec<&str> = named.map_or_else(|| known.collect(), |file| vec![file]);
    for file in files {
        // SAFETY: an MPI library's constructors only prepare its own memory. Plugins of Open MPI
        // look for the symbols of their library among all, hence global.
        match unsafe { Library::open(Some(file), RTLD_NOW | RTLD_GLOBAL) } {
            Ok(library) => return known_as(file, library),
            Err(error) => why = told_by(file, &error),
        }
    }
    Err(MpiError::Missing { why })
}

/// The loader's own words, which its error has as the source.
fn told_by(file: &str, error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| format!("{file}: {error}"), ToString::to_string)
}

fn known_as(file: &str, library: Library) -> Result<Loaded, MpiError> {
    let version = version(&library).map_err(|error| match error {
        MpiError::Strange { symbol, .. } => MpiError::Strange { library: file.to_owned(), symbol },
        other => other,
    })?;
    let is_mpich = ["MPICH", "Intel(R) MPI"].iter().any(|name| version.contains(name));
    let has_mark = symbol::<*const u8>(&library, openmpi::MARK).is_ok();
    let flavour = match (has_mark, is_mpich) {
        (true, _) => Flavour::OpenMpi,
        (false, true) => Flavour::Mpich,
        (false, false) => {
            let symbol = openmpi::MARK.to_owned();
            return Err(MpiError::Strange { library: file.to_owned(), symbol });
        }
    };
    // Never unloaded: threads of its transports run until the process ends.
    let library: &'static Library = Box::leak(Box::new(library));
    Ok(Loaded { library, flavour, version: told(&version) })
}

/// The library's own text, which may be asked for before it is started (MPI 4.1, section 9.1.1).
fn version(library: &Library) -> Result<String, MpiError> {
    // More than either implementation's `MPI_MAX_LIBRARY_VERSION_STRING`.
    const TEXT_BYTES: usize = 16 << 10;
    let ask: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int =
        symbol(library, "MPI_Get_library_version")?;
    let (mut text, mut length) = (vec![0_u8; TEXT_BYTES], 0);
    // SAFETY: the buffer is longer than the longest text of either ABI.
    unsafe { ask(text.as_mut_ptr().cast(), &mut length) };
    text.truncate(usize::try_from(length).unwrap_or_default());
    Ok(String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned())
}

/// One line of it: Open MPI's up to the first comma, MPICH's version and device.
fn told(text: &str) -> String {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name))?;
        Some(line.trim_start_matches(':').trim().to_owned())
    };
    match (field("MPICH Version"), field("MPICH Device")) {
        (Some(version), Some(device)) => format!("MPICH {version}, {device}"),
        _ => text.split([',', '\n']).next().unwrap_or_default().trim().to_owned(),
    }
}

/// Whether a launcher's ranks would find each other with this library.
pub fn ready(loaded: &Loaded, launched: Option<(Flavour, usize)>) -> Result<(), MpiError> {
    match launched {
        Some((launcher, ranks)) if launcher != loaded.flavour && ranks > 1 => {
            let (launcher, library) = (launcher.to_string(), loaded.version.clone());
            Err(MpiError::Mixed { launcher, library })
        }
        _ => Ok(()),
    }
}

impl Loaded {
    /// Starts it; `launched` is the number of ranks that the launcher says there are.
    pub fn start(self, launched: Option<usize>) -> Result<Box<dyn Mpi>, MpiError> {
        let version = self.version.clone();
        let world: Box<dyn Mpi> = match self.flavour {
            Flavour::OpenMpi => Box::new(World::<OpenMpi>::start(self.library, self.version)?),
            Flavour::Mpich => Box::new(World::<Mpich>::start(self.library, self.version)?),
        };
        match launched.filter(|ranks| *ranks != world.size()) {
            Some(launched) => {
                Err(MpiError::Alone { launched, found: world.size(), library: version })
            }
            None => Ok(world),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_one_line() {
        let open = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4";
        assert_eq!(told(open), "Open MPI v4.1.4");
        let mpich = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu\nMPICH Device:\tch4:ucx\n";
        assert_eq!(told(mpich), "MPICH 4.0.2, ch4:ucx");
        assert_eq!(told(""), "");
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        let of = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> =
                set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            Flavour::of_launcher(move |name| {
                set.iter().find(|(of, _)| of == name).map(|(_, value)| value.clone())
            })
        };
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "4")]), Some((Flavour::OpenMpi, 4)));
        assert_eq!(of(&[("PMI_SIZE", "2"), ("PMI_RANK", "0")]), Some((Flavour::Mpich, 2)));
        assert_eq!(of(&[("PMIX_RANK", "1"), ("SLURM_NTASKS", "8")]), Some((Flavour::OpenMpi, 8)));
        assert_eq!(of(&[("SLURM_NTASKS", "8")]), None);
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "x")]), None);
    }

    #[test]
    fn a_library_of_something_else_is_named() {
        let error = load(Some("libm.so.6"), None).err().expect("no MPI");
        assert!(matches!(error, MpiError::Strange { .. }), "{error}");
        let error = load(Some("/nowhere/libmpi.so"), None).err().expect("no file");
        assert!(matches!(error, MpiError::Missing { .. }), "{error}");
    }
}
