//! Tests of a binary that is its own worker.

/// Runs the tests of a binary that is its own worker, so that it has no harness: those whose names
/// hold the first word that it is told, all without one.
pub fn run_all(tests: &[(&str, fn())]) {
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let chosen = tests.iter().filter(|(name, _)| wanted.as_ref().is_none_or(|w| name.contains(w)));
    let mut passed = 0;
    for (name, test) in chosen {
        test();
        println!("test {name} ... ok");
        passed += 1;
    }
    println!("test result: ok. {passed} passed");
}
