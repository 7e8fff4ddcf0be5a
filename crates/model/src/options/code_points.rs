//! Code points of differentiated services by name.

/// Names of code points: class selectors (RFC 2474), assured and expedited forwarding (RFC 2597,
/// RFC 3246), voice-admit (RFC 5865) and lower effort (RFC 8622).
pub(super) const CODE_POINTS: &[(&str, u64)] = &[
    ("CS0", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];
