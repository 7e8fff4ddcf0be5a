//! Advice on settings, for people.

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
