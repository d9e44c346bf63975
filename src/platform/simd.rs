//! Which instruction set this processor computes vectors with.

/// An instruction set that there are kernels for, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Simd {
    /// AMX with bf16 tiles: 16 × 16 × 32 products an instruction.
    Amx,
    /// AVX-512 with dot products of bf16 pairs.
    Avx512Bf16,
    /// AVX-512F, 16 f32 at a time.
    Avx512,
    /// AVX2 with FMA and F16C, 8 f32 at a time.
    Avx2,
    /// NEON, 4 f32 at a time.
    Neon,
    /// No vector instructions named; the compiler may find some.
    Plain,
}

/// Forces a set, by the names of [`Simd::name`].
pub const SIMD_VARIABLE: &str = "LODESTONE_SIMD";

impl Simd {
    pub const ALL: [Self; 6] =
        [Self::Amx, Self::Avx512Bf16, Self::Avx512, Self::Avx2, Self::Neon, Self::Plain];

    /// The fastest set of this processor, or the one that the environment names if the processor has it.
    #[must_use]
    pub fn detect() -> Self {
        let forced = std::env::var(SIMD_VARIABLE).ok();
        if let Some(name) = forced.as_deref().filter(|name| !name.is_empty()) {
            match Self::ALL.into_iter().find(|simd| simd.name() == name) {
                Some(simd) if simd.is_available() => return simd,
                _ => tracing::warn!("{SIMD_VARIABLE}={name} is unknown here and is ignored"),
            }
        }
        let pays = |simd: &Self| *simd != Self::Avx512Bf16 || has_fast_bf16_dots();
        let mut available = Self::ALL.into_iter().filter(|simd| simd.is_available());
        available.find(pays).unwrap_or(Self::Plain)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Amx => "amx",
            Self::Avx512Bf16 => "avx512-bf16",
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Neon => "neon",
            Self::Plain => "plain",
        }
    }

    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Amx => Self::Avx512Bf16.is_available() && amx::is_permitted(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Bf16 => {
                Self::Avx512.is_available() && is_x86_feature_detected!("avx512bf16")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => is_x86_feature_detected!("avx512f") && Self::Avx2.is_available(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            Self::Plain => true,
            _ => false,
        }
    }
}

/// Whether a dot product of bf16 pairs takes no longer than an f32 multiplication. On AMD it does not;
/// Intel's cores before AMX and beside it run it in several steps, and f32 was 1.5 times as fast there.
fn has_fast_bf16_dots() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let vendor = std::arch::x86_64::__cpuid(0);
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat();
        name == b"AuthenticAMD"
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg(target_arch = "x86_64")]
mod amx {
    use std::sync::LazyLock;

    static PERMITTED: LazyLock<bool> = LazyLock::new(|| has_bf16_tiles() && ask());

    /// Whether the processor multiplies bf16 tiles and the system lets this process do so.
    pub(super) fn is_permitted() -> bool {
        *PERMITTED
    }

    /// Intel's Architecture Instruction Set Extensions, "CPUID": leaf 7, EDX bits 22 and 24.
    fn has_bf16_tiles() -> bool {
        const AMX_BF16: u32 = 1 << 22;
        const AMX_TILE: u32 = 1 << 24;
        const BOTH: u32 = AMX_BF16 | AMX_TILE;
        std::arch::x86_64::__cpuid(0).eax >= 7
            && std::arch::x86_64::__cpuid_count(7, 0).edx & BOTH == BOTH
    }

    /// Linux saves 8 KB of tile registers for those processes alone that asked for it
    /// (`Documentation/arch/x86/xstate.rst`).
    #[cfg(target_os = "linux")]
    fn ask() -> bool {
        const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
        const XFEATURE_XTILEDATA: libc::c_long = 18;
        // SAFETY: the call takes two numbers and changes nothing but what this process may use.
        let refused =
            unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) };
        refused == 0
    }

    #[cfg(not(target_os = "linux"))]
    fn ask() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_detected_is_available() {
        assert!(Simd::detect().is_available());
        assert!(Simd::Plain.is_available());
    }

    #[test]
    fn names_are_distinct() {
        let mut names = Simd::ALL.map(Simd::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Simd::ALL.len());
    }
}
