use super::*;
use narrows_model::result::Provenance;

fn through(low: f64, high: f64, is_at_least: bool) -> Reached {
    let mpps = Range { value: low, low, high };
    let says = "planted".to_owned();
    Reached { mpps, is_at_least, is_zero_loss: true, through_nic: true, is_both_ways: false, says }
}

const WIRE: Option<f64> = Some(14.88);

fn no(binds: &str) -> Verdict {
    Verdict::No { binds: binds.to_owned(), low: 11.7, high: 13.7 }
}

#[test]
fn what_was_measured_at_the_wires_rate_is_a_yes_whatever_the_model_says() {
    let reached = through(14.85, 14.88, true);
    let (verdict, by) = settled(no("chipset slot"), Some(&reached), WIRE);
    assert_eq!((verdict, by), (Verdict::Yes, DecidedBy::Measurement));
    // Between namespaces it says nothing of the slot.
    let inside = Reached { through_nic: false, ..reached };
    let (verdict, by) = settled(no("chipset slot"), Some(&inside), WIRE);
    assert_eq!((verdict, by), (no("chipset slot"), DecidedBy::Model));
}

#[test]
fn a_loss_that_the_model_does_not_explain_is_unknown_and_no_yes() {
    let (verdict, by) = settled(Verdict::Yes, Some(&through(9.0, 9.1, false)), WIRE);
    assert!(verdict.to_string().starts_with("unknown: needs what held the 9.00 M/s"), "{verdict}");
    assert_eq!(by, DecidedBy::Measurement);
    // A sender that makes no more is no limit of the server.
    let (verdict, _) = settled(Verdict::Yes, Some(&through(9.0, 9.0, true)), WIRE);
    assert_eq!(verdict, Verdict::Yes);
    let (verdict, _) = settled(no("slot"), Some(&through(9.0, 9.1, false)), WIRE);
    assert_eq!(verdict, no("slot"));
}

#[test]
fn a_base_clock_convicts_no_processor() {
    let clock = |from| Known::new(2.4, from);
    let read = clock(Provenance::Read("/proc/cpuinfo".to_owned()));
    let careful_of = |binds| careful(no(binds), Some(&read)).to_string();
    assert!(
        careful_of("CPU waiting for memory").starts_with("unknown: needs the clock under load")
    );
    assert_eq!(careful_of("slot"), no("slot").to_string());
    let said = clock(Provenance::Given("--set".to_owned()));
    let cpu = no("CPU waiting for memory");
    assert_eq!(careful(cpu.clone(), Some(&said)), cpu);
    assert_eq!(careful(Verdict::Yes, Some(&read)), Verdict::Yes);
}

#[test]
fn a_clock_is_that_of_the_processors_name() {
    let mut host = Host::default();
    let named = |host: &Host| {
        let said = Said::new();
        clock(&Asked { host, analysis: None, also: None, said: &said, nic: None })
            .map(|clock| clock.value)
    };
    assert_eq!(named(&host), None);
    let model = "Intel(R) Xeon(R) CPU E5645 @ 2.40GHz".to_owned();
    host.cpu.model = narrows_model::Fact::known(model, "planted");
    assert_eq!(named(&host), Some(2.4));
    host.cpu.model = narrows_model::Fact::known("AMD EPYC 7763".to_owned(), "planted");
    assert_eq!(named(&host), None);
}
