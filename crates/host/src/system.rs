//! The operating system by the name that it gives itself (os-release(5)).

use crate::Root;
use crate::os_release::{KEY, name};
use narrows_model::Fact;

/// Where the name stands; the second for systems whose first is missing.
const FILES: [&str; 2] = ["etc/os-release", "usr/lib/os-release"];

/// Name and version of the system that this root is of.
pub(crate) fn read(root: &Root) -> Fact<String> {
    // A link may be absolute, and leads to a file of this root all the same.
    let found = FILES.iter().find_map(|file| Some((file, root.resolve(file)?)));
    let Some((file, path)) = found else { return Fact::absent(format!("/{}", FILES[0])) };
    let text = root.text(&path);
    let from = format!("/{file}, {KEY}");
    match text.and_then(|text| name(&text)) {
        Fact::Known { value, .. } => Fact::told(value, from),
        gap => gap.map(|_| String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn the_file_is_that_of_the_root_also_by_an_absolute_link() {
        let machine = Scratch::of("system", &[("usr/lib/os-release", "PRETTY_NAME=Planted\n")]);
        let told = read(&machine.root());
        assert_eq!(told, Fact::known("Planted".to_owned(), "/usr/lib/os-release, PRETTY_NAME"));
        machine.link("etc/os-release", "/usr/lib/os-release");
        let told = read(&machine.root());
        assert_eq!(told, Fact::known("Planted".to_owned(), "/etc/os-release, PRETTY_NAME"));
        let nothing = Scratch::of("no-system", &[]);
        assert_eq!(read(&nothing.root()), Fact::absent("/etc/os-release"));
        let unnamed = Scratch::of("unnamed-system", &[("etc/os-release", "ID=x\n")]);
        assert_eq!(read(&unnamed.root()), Fact::absent("/etc/os-release, PRETTY_NAME"));
    }
}
