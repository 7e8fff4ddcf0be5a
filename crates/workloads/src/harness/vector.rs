//! How wide loads and stores are: chosen at run time from what the processor has.

use crate::LoadError;

/// Width of the registers that a kernel loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vector {
    /// What the compiler makes for any processor of this architecture (SSE2, NEON).
    Portable,
    /// 16 bytes, two at a time, with pairs that go past the caches.
    Neon,
    /// AVX2: 32 bytes at a time.
    Avx2,
    /// AVX-512: 64 bytes at a time.
    Avx512,
}

impl Vector {
    /// Its name, as in a study and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The widths that this processor has, the narrowest first.
    pub fn all() -> Vec<Self> {
        #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(unused_mut))]
        let mut all = vec![Self::Portable];
        // Part of the architecture. SVE has no stable intrinsics in Rust.
        #[cfg(target_arch = "aarch64")]
        all.push(Self::Neon);
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") {
                all.push(Self::Avx2);
            }
            if std::arch::is_x86_feature_detected!("avx512f") {
                all.push(Self::Avx512);
            }
        }
        all
    }

    /// The width by this name; without one the widest up to 32 bytes, which fill a memory channel
    /// as well: 64 bytes gave an eighth less on the machine at hand, in C as here. An error when
    /// the processor has no such width.
    pub fn choose(name: Option<&str>) -> Result<Self, LoadError> {
        let all = Self::all();
        let usual = all.iter().copied().filter(|vector| *vector <= Self::Avx2).max();
        let Some(name) = name else { return Ok(usual.unwrap_or(Self::Portable)) };
        let found = all.iter().copied().find(|vector| vector.name() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|vector| vector.name()).collect();
            LoadError::Order(format!("no vectors '{name}' here; there are {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_width_is_chosen_unless_another_is_named() {
        let usual = Vector::choose(None).expect("a width");
        assert!(usual <= Vector::Avx2 && Vector::all().contains(&usual));
        assert_eq!(Vector::choose(Some("portable")).expect("portable"), Vector::Portable);
        assert!(Vector::choose(Some("mmx")).is_err());
    }
}
