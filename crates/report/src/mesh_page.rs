//! A mesh on a page: who is slow, the map and how the pairs' figures spread, before the rows of all
//! pairs.

use crate::plots::histogram;
use crate::{Analysis, mesh};
use maud::{Markup, PreEscaped, html};
use narrows_model::study::StoredStudy;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::EndHost;
use narrows_stats::mesh::{Limits, Mesh, MeshPair};

/// Suspects that are told on the page: with more of them it is no few hosts that are slow.
const SUSPECTS: usize = 12;

/// The section; empty of all other studies.
pub(crate) fn section(analysis: &Analysis<'_>) -> Markup {
    let stored = analysis.stored;
    let Some((of, names)) = evaluated(stored) else { return html! {} };
    html! {
        h2 id="mesh" { "Pairs of hosts" }
        p { (mesh::head(&of, &names)) }
        div class="card" {
            b { "Named" }
            @if of.named.is_empty() { p { "None: every pair is within the limits." } }
            ul {
                @for named in of.named.iter().take(SUSPECTS) {
                    li {
                        (mesh::suspect(named, &of, &names))
                        @for detail in mesh::details(named.suspect, &of, stored, &names) {
                            div class="soft" { (detail) }
                        }
                    }
                }
                @if of.named.len() > SUSPECTS {
                    li class="soft" { (of.named.len() - SUSPECTS) " more" }
                }
            }
            @if let Some(left) = mesh::in_no_pair(&of, &names) { p { (left) } }
            p class="soft" { (limits(of.limits)) }
        }
        @for (title, svg) in pictures(stored) {
            h3 { (title) }
            (PreEscaped(svg))
        }
    }
}

/// A file does not have those that its mesh was given.
fn limits(limits: Limits) -> String {
    format!(
        "By the limits of a mesh that is given none: a rate below {:.0} % of the best, or a latency \
         above {} times the least.",
        100.0 * limits.rate_share,
        limits.latency_times
    )
}

/// The map and the histogram, with their titles; none of all other studies.
pub(crate) fn pictures(stored: &StoredStudy) -> Vec<(String, String)> {
    let Some((of, names)) = evaluated(stored) else { return Vec::new() };
    let values: Vec<f64> = of.cells.iter().filter_map(MeshPair::last).collect();
    let title = "Figures of all pairs";
    let all = [
        (mesh::MAP.to_owned(), mesh::drawn(&of, &names)),
        (title.to_owned(), histogram::draw(title, of.unit, &values)),
    ];
    all.into_iter().filter(|(_, svg)| !svg.is_empty()).collect()
}

fn evaluated(stored: &StoredStudy) -> Option<(Mesh, Vec<String>)> {
    let is_mesh = stored.study.command == StudyKind::Mesh;
    let mesh = Mesh::of(stored, Limits::default()).filter(|_| is_mesh)?;
    let count = stored.study.peer.as_deref().unwrap_or_default().split(", ").count();
    let names = (0..count).map(|at| stored.host_name(EndHost::Peer(at as u32)));
    Some((mesh, names.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::host::Host;

    #[test]
    fn a_study_that_is_no_mesh_has_no_pictures_of_one() {
        assert!(pictures(&StoredStudy::unmeasured(Host::default())).is_empty());
    }
}
