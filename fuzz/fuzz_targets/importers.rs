//! What other tools print: every importer on every text, and no figure that is no number.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_interop::import::{TOOLS, recognise};

fuzz_target!(|text: &str| {
    let _ = recognise(text);
    for tool in TOOLS {
        let Ok(output) = (tool.parse)(text) else { continue };
        for run in output.runs {
            assert!(run.figures.iter().all(|figure| figure.value.is_finite()), "{run:?}");
            assert!(run.failed.is_some() || !run.figures.is_empty(), "{run:?}");
        }
    }
});
