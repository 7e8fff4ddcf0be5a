//! Which files are of one server: `mem` measures its memory and `packets` its packets, each into a
//! file of its own.

use narrows_model::host::Host;
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::workload::{Kernel, Workload};

/// Whether two files are of one host by what it says of itself, and one has only packets and the
/// other only its memory. Two that have the same of a host are two measurements of it.
pub fn complements(one: &StoredStudy, other: &StoredStudy) -> bool {
    let has = [one, other].map(|stored| [ran(stored, is_packets), ran(stored, is_memcpy)]);
    let apart = matches!(has, [[true, false], [false, true]] | [[false, true], [true, false]]);
    apart && is_one_host(&one.host, &other.host)
}

fn ran(stored: &StoredStudy, is: fn(&Trial) -> bool) -> bool {
    let mut all = stored.trials.iter().filter(|trial| is(trial));
    all.any(|trial| stored.records_of(trial).next().is_some())
}

fn is_packets(trial: &Trial) -> bool {
    trial.kind == Workload::Packets
}

fn is_memcpy(trial: &Trial) -> bool {
    trial.kind == Workload::Memory(Kernel::Memcpy)
}

/// Its name, what firmware and the processors call themselves, and where its cards are. A host
/// that does not say its name is not known to be another file's.
fn is_one_host(one: &Host, other: &Host) -> bool {
    let named = one.name.value().is_some() && one.name.value() == other.name.value();
    named
        && one.identity.value() == other.identity.value()
        && one.product.value() == other.product.value()
        && one.cpu.model.value() == other.cpu.model.value()
        && cards(one).eq(cards(other))
}

/// Names of the cards and where they are; a moved card is another server's row.
fn cards(host: &Host) -> impl Iterator<Item = (&str, Option<&str>)> {
    host.physical_nics()
        .map(|nic| (nic.name.as_str(), nic.path.last().map(|hop| hop.address.as_str())))
}
