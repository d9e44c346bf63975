//! Which kernels a device runs: the rungs of the ladder, best first.

use std::fmt;

/// A set of kernels. Each rung needs more of the device than the one below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::inference) enum Tier {
    /// f32 activations, weights in f32 or packed f16; nothing beyond WebGPU itself.
    Base,
    /// f16 in memory, sums in f32, reductions by subgroup operations.
    Subgroup,
    /// As [`Tier::Subgroup`], with products by cooperative matrices of this many rows and columns.
    Cooperative(MatrixSize),
}

/// Rows and columns of a cooperative matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::inference) enum MatrixSize {
    /// Metal's.
    Eight,
    /// What Vulkan drivers list.
    Sixteen,
}

impl MatrixSize {
    pub fn get(self) -> u32 {
        match self {
            Self::Eight => 8,
            Self::Sixteen => 16,
        }
    }
}

impl Tier {
    /// The numbers that activations are kept in.
    pub fn activations(self) -> Numbers {
        match self {
            Self::Base => Numbers::F32,
            Self::Subgroup | Self::Cooperative(_) => Numbers::F16,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base => f.write_str("base kernels"),
            Self::Subgroup => f.write_str("subgroup kernels in f16"),
            Self::Cooperative(size) => {
                let size = size.get();
                write!(f, "cooperative matrices of {size} × {size}")
            }
        }
    }
}

/// How a number lies in the memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::inference) enum Numbers {
    F16,
    F32,
}

impl Numbers {
    pub fn bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 => 4,
        }
    }
}
