//! Which library there is, and whether it is of the launcher's implementation.

use crate::calls::World;
use crate::mpich::Mpich;
use crate::openmpi::{self, OpenMpi};
use crate::standard::{self, Standard};
use crate::symbols::symbol;
use crate::{Mpi, MpiError};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{c_char, c_int};
use std::fmt;
use std::path::Path;

/// Whose implementation it is: its launcher, its settings, and its own ABI.
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
            Self::OpenMpi => &["libmpi.so.40", STANDARD_FILE],
            Self::Mpich => &["libmpich.so.12", "libmpi.so.12", STANDARD_FILE],
        }
    }

    /// Its library in the folder tree that a program of its launcher lies in, `bin` beside `lib`:
    /// of several installations a launcher's own one fits.
    pub fn beside(self, program: &Path) -> Option<String> {
        let prefix = program.canonicalize().ok()?.parent()?.parent()?.to_owned();
        let folders = ["lib", "lib64"].map(|folder| prefix.join(folder));
        let mut files =
            self.files().iter().flat_map(|file| folders.iter().map(move |at| at.join(file)));
        Some(files.find(|file| file.is_file())?.display().to_string())
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

/// File name of a library that has the standard's ABI, whoever made it.
const STANDARD_FILE: &str = "libmpi_abi.so.1";
/// The version of the standard's ABI whose numbers are known; a higher one breaks with it.
const STANDARD_MAJOR: c_int = 1;

/// A library that is loaded and not yet started.
pub struct Loaded {
    library: &'static Library,
    pub flavour: Flavour,
    /// What it says that it is, one line: `Open MPI v4.1.4`, `MPICH 4.0.2, ch4:ucx`,
    /// `MPICH 5.0.2, ch4:ucx ofi, standard ABI 1.0`.
    pub version: String,
    /// Version of the standard's ABI, where it has that and not its own.
    standard: Option<(c_int, c_int)>,
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
    let strange = |symbol: String| MpiError::Strange { library: file.to_owned(), symbol };
    let text = version(&library).map_err(|error| match error {
        MpiError::Strange { symbol, .. } => strange(symbol),
        other => other,
    })?;
    let standard = standard::version(&library);
    if let Some((major, minor)) = standard.filter(|(major, _)| *major > STANDARD_MAJOR) {
        return Err(MpiError::NewerAbi { library: file.to_owned(), major, minor });
    }
    let has_mark = symbol::<*const u8>(&library, openmpi::MARK).is_ok();
    let flavour = maker(&text, has_mark).ok_or_else(|| strange(openmpi::MARK.to_owned()))?;
    // Never unloaded: threads of its transports run until the process ends.
    let library: &'static Library = Box::leak(Box::new(library));
    Ok(Loaded { library, flavour, version: told(&text, standard), standard })
}

/// Whose a library is, by what it says of itself and by the symbol that only Open MPI's own ABI
/// has.
fn maker(text: &str, has_mark: bool) -> Option<Flavour> {
    if has_mark || text.contains("Open MPI") {
        return Some(Flavour::OpenMpi);
    }
    let is_mpich = ["MPICH", "Intel(R) MPI"].iter().any(|name| text.contains(name));
    is_mpich.then_some(Flavour::Mpich)
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

/// One line of it: Open MPI's up to the first comma, MPICH's version and device; and the standard's
/// ABI where it has that.
fn told(text: &str, standard: Option<(c_int, c_int)>) -> String {
    let own = own_words(text);
    standard.map_or_else(
        || own.clone(),
        |(major, minor)| format!("{own}, standard ABI {major}.{minor}"),
    )
}

fn own_words(text: &str) -> String {
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
        let (library, own) = (self.library, self.version);
        let world: Box<dyn Mpi> = match (self.standard, self.flavour) {
            (Some(_), _) => Box::new(World::<Standard>::start(library, own)?),
            (None, Flavour::OpenMpi) => Box::new(World::<OpenMpi>::start(library, own)?),
            (None, Flavour::Mpich) => Box::new(World::<Mpich>::start(library, own)?),
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
        assert_eq!(told(open, None), "Open MPI v4.1.4");
        let mpich = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu\nMPICH Device:\tch4:ucx\n";
        assert_eq!(told(mpich, None), "MPICH 4.0.2, ch4:ucx");
        let both = "MPICH Version:      5.0.2\nMPICH Device:       ch4:ucx ofi\n";
        assert_eq!(told(both, Some((1, 0))), "MPICH 5.0.2, ch4:ucx ofi, standard ABI 1.0");
        assert_eq!(told("", None), "");
    }

    #[test]
    fn a_library_is_its_makers_whichever_abi_it_has() {
        let open = "Open MPI v6.0.0, package: Open MPI user@host Distribution, ident: 6.0.0";
        // The symbol is not in libmpi_abi, the words are.
        assert_eq!([true, false].map(|mark| maker(open, mark)), [Some(Flavour::OpenMpi); 2]);
        assert_eq!(maker("", true), Some(Flavour::OpenMpi));
        assert_eq!(maker("MPICH Version:\t5.0.2\n", false), Some(Flavour::Mpich));
        assert_eq!(maker("Intel(R) MPI Library 2021.12", false), Some(Flavour::Mpich));
        assert_eq!(maker("another", false), None);
    }

    #[test]
    fn the_library_beside_a_launcher_is_its_own() {
        let prefix =
            std::env::temp_dir().join(format!("narrows-mpi-beside-{}", std::process::id()));
        let folders = ["bin", "lib", "lib64"].map(|folder| prefix.join(folder));
        for folder in &folders {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        let prefix = prefix.canonicalize().expect("it is there");
        let [bin, lib, lib64] = folders;
        let put = |at: &Path, name: &str| {
            std::fs::write(at.join(name), "").expect("a file");
            at.join(name)
        };
        let program = put(&bin, "prterun");
        // A launcher is often a link to it, from a folder of links.
        let link = prefix.join("mpirun");
        std::os::unix::fs::symlink(&program, &link).expect("a link");
        assert_eq!(Flavour::OpenMpi.beside(&link), None);
        put(&lib64, "libmpi_abi.so.1");
        let of = |flavour: Flavour| {
            let file = flavour.beside(&link).map(std::path::PathBuf::from);
            file.and_then(|file| Some(file.strip_prefix(&prefix).ok()?.display().to_string()))
        };
        assert_eq!(of(Flavour::Mpich).as_deref(), Some("lib64/libmpi_abi.so.1"));
        put(&lib, "libmpi.so.40");
        assert_eq!(of(Flavour::OpenMpi).as_deref(), Some("lib/libmpi.so.40"));
        assert_eq!(of(Flavour::Mpich).as_deref(), Some("lib64/libmpi_abi.so.1"));
        assert_eq!(Flavour::OpenMpi.beside(&prefix.join("gone")), None);
        std::fs::remove_dir_all(prefix).expect("removed");
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
