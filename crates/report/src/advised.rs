//! Advice on settings, for people.

use crate::ending::Ending;
use narrows_explain::tune::{Advice, Advised};

/// The settings that should be different, what is worth most first, each with its reason, who
/// advises it and the commands; then what is fine and what could not be read.
pub fn text(told: &Advised, profile: &str) -> String {
    let mut text = match told.advice.len() {
        0 if told.unknown.is_empty() => format!("Nothing to change for {profile}\n"),
        0 => {
            let gaps = crate::words::counted(told.unknown.len(), "setting");
            format!("Nothing to change for {profile} in what is known; {gaps} unknown\n")
        }
        n => format!("{} for {profile}\n", crate::words::counted(n, "setting")),
    };
    for advice in &told.advice {
        text += &one(advice);
    }
    if told.advice.iter().any(|advice| !advice.files.is_empty()) {
        text += "\n`narrows tune --apply` makes the changes marked *, `--undo` puts them back\n";
    }
    text += &listed("as they should be", &told.fine);
    for gap in &told.unknown {
        text += &format!("  unknown: {gap}\n");
    }
    text
}

/// What should be different at most, what that is worth, and how it is done.
pub fn ending(told: &Advised, profile: &str) -> Ending {
    let details = ("details", "above; narrows tune --json for programs".to_owned());
    let count = crate::words::counted(told.advice.len(), "setting");
    let gaps = crate::words::counted(told.unknown.len(), "setting");
    let Some(first) = told.advice.first() else {
        let unread = if told.unknown.is_empty() { "" } else { "; why each is unknown is above" };
        return Ending::of([
            ("answer", format!("nothing to change for {profile}; {gaps} unknown")),
            ("do", format!("nothing{unread}")),
            details,
        ]);
    };
    let worth = match &first.worth {
        Some(worth) => worth.to_string(),
        None => "its worth is not measured".to_owned(),
    };
    let applied = match told.advice.iter().filter(|advice| !advice.files.is_empty()).count() {
        0 => first.commands.join("; "),
        some => format!(
            "narrows tune --profile {profile} --apply makes {some} of them, with HOST measured \
             before and after; --undo puts them back"
        ),
    };
    let what = format!("{count} to change for {profile}; {gaps} unknown");
    let limits = format!("{}: {} -> {}; {worth}", first.setting, first.now, first.wanted);
    Ending::of([("answer", what), ("first", limits), ("do", applied), details])
}

fn listed(name: &str, all: &[String]) -> String {
    if all.is_empty() { String::new() } else { format!("  {name}: {}\n", all.join(", ")) }
}

fn one(advice: &Advice) -> String {
    let mark = if advice.files.is_empty() { " " } else { "*" };
    let worth = match &advice.worth {
        Some(worth) => worth.to_string(),
        None => "unknown until it is measured".to_owned(),
    };
    format!(
        "\n{mark} {}: {} -> {}\n      why    {}\n      worth  {worth}\n      source {}\n      read   {}\n      do     {}\n",
        advice.setting,
        advice.now,
        advice.wanted,
        advice.because,
        advice.source,
        advice.from,
        advice.commands.join("; "),
    )
}
