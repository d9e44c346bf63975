//! What a kernel is compiled from: a file of `shaders/` behind the constants of a model and the types of a
//! tier.

use std::fmt::Write as _;

use super::super::tier::{MatrixSize, Numbers, Tier};
use crate::inference::backend::Activation;

/// Lanes that share a row.
const ROW_LANES: u32 = 64;

/// Quads of columns of one workgroup of pooling.
pub(in super::super) const POOL_LANES: u32 = 64;

/// Queries of one workgroup of attention.
pub(in super::super) const QUERIES: usize = 64;

/// Quads of a head up to which the registers of a lane hold two queries.
const TWO_QUERIES_MAX: u32 = 8;

/// A kernel for models of one shape. Widths are in quads, which are four numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Program {
    Embed { quads: u32, positions: bool, weights: Numbers },
    Norm { quads: u32 },
    Gemm { product: Product, weights: Numbers },
    CooperativeGemm { product: Product, tile: Tile },
    Attention { quads: u32, head_quads: u32, alibi: bool },
    Pool { quads: u32, cls: bool },
}

/// What surrounds a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Product {
    pub bias: bool,
    pub end: RowEnd,
}

/// What happens to finished sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum RowEnd {
    Plain,
    Gelu,
    Geglu,
    Residual,
}

impl From<Activation> for RowEnd {
    fn from(activation: Activation) -> Self {
        match activation {
            Activation::Identity => Self::Plain,
            Activation::Gelu => Self::Gelu,
            Activation::Geglu => Self::Geglu,
        }
    }
}

/// How a workgroup of cooperative matrices is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Tile {
    pub size: MatrixSize,
    pub subgroups_down: u32,
    pub subgroups_across: u32,
    /// Matrices of a subgroup below each other.
    pub row_tiles: u32,
    /// 32 columns of a subgroup beside each other.
    pub wides: u32,
    /// Quads of inputs that are multiplied at once.
    pub step: u32,
}

/// Lanes of a subgroup, where cooperative matrices are used at all.
const SUBGROUP: u32 = 32;

/// Quads between two rows in workgroup memory, which keep them off each other's banks.
const PITCH_MORE: u32 = 2;

/// Columns of [`Tile::wides`].
const WIDE: u32 = 32;

impl Tile {
    /// For so many rows, on a device with so many bytes of workgroup memory: a query has few rows, and is to be
    /// spread over more workgroups.
    pub fn for_rows(size: MatrixSize, rows: usize, memory: u32) -> Self {
        let tile = Self {
            size,
            subgroups_down: 2,
            subgroups_across: 2,
            row_tiles: 32 / size.get(),
            wides: 1,
            step: 8,
        };
        let large = Self { subgroups_down: 4, wides: 2, ..tile };
        match (size, rows) {
            (_, ..=64) => Self { subgroups_down: 1, ..tile },
            (MatrixSize::Sixteen, _) if large.bytes() <= memory => large,
            _ => tile,
        }
    }

    /// Of workgroup memory. Drivers do not say when it is more than there is: one hung.
    pub fn bytes(self) -> u32 {
        let row = (self.step + PITCH_MORE) * 4 * size_of::<u16>() as u32;
        let scratch = self.size.get() * WIDE * size_of::<f32>() as u32;
        (self.rows() + self.outputs()) * row + self.subgroups_down * self.subgroups_across * scratch
    }

    pub fn rows(self) -> u32 {
        self.subgroups_down * self.row_tiles * self.size.get()
    }

    pub fn outputs(self) -> u32 {
        self.subgroups_across * self.wides * WIDE
    }

    fn threads(self) -> u32 {
        SUBGROUP * self.subgroups_down * self.subgroups_across
    }

    fn constants(self) -> Vec<(&'static str, u32)> {
        let size = self.size.get();
        vec![
            ("SUBGROUP", SUBGROUP),
            ("THREADS", self.threads()),
            ("SIZE", size),
            ("SUB_ROWS", self.subgroups_down),
            ("SUB_COLUMNS", self.subgroups_across),
            ("ROW_TILES", self.row_tiles),
            ("WIDES", self.wides),
            ("WIDE_TILES", WIDE / size),
            ("STEP", self.step),
            ("PITCH", self.step + PITCH_MORE),
            ("STEP_TILES", 4 * self.step / size),
            ("LEFT_LOADS", self.rows() * self.step / self.threads()),
            ("RIGHT_LOADS", self.outputs() * self.step / self.threads()),
        ]
    }

    /// Metal's loads take pointers to numbers; Vulkan's take pointers to vectors as well, which are written
    /// to workgroup memory in one go.
    fn types(self) -> String {
        let size = self.size.get();
        let (cell, cells) = match self.size {
            MatrixSize::Eight => ("f16", 4),
            MatrixSize::Sixteen => ("vec4<f16>", 1),
        };
        let put = |side: &str| match self.size {
            MatrixSize::Eight => {
                ["x", "y", "z", "w"].iter().enumerate().fold(String::new(), |text, (at, part)| {
                    text + &format!("    {side}[4u * at + {at}u] = quad.{part};\n")
                })
            }
            MatrixSize::Sixteen => format!("    {side}[at] = quad;\n"),
        };
        format!(
            "alias Cell = {cell};\nconst CELLS = {cells}u;\n\
             alias Left = coop_mat{size}x{size}<f16, A>;\n\
             alias Right = coop_mat{size}x{size}<f16, B>;\n\
             alias Sums = coop_mat{size}x{size}<f32, C>;\n\
             fn put_left(at: u32, quad: vec4<f16>) {{\n{}}}\n\
             fn put_right(at: u32, quad: vec4<f16>) {{\n{}}}\n",
            put("left"),
            put("right"),
        )
    }
}

const REDUCE_BASE: &str = include_str!("../../../../../shaders/reduce_base.wgsl");
const REDUCE_SUBGROUP: &str = include_str!("../../../../../shaders/reduce_subgroup.wgsl");
const ROW: &str = include_str!("../../../../../shaders/row.wgsl");
const EMBED: &str = include_str!("../../../../../shaders/embed.wgsl");
const NORM: &str = include_str!("../../../../../shaders/norm.wgsl");
const EPILOGUE: &str = include_str!("../../../../../shaders/epilogue.wgsl");
const GEMM: &str = include_str!("../../../../../shaders/gemm.wgsl");
const GEMM_COOPERATIVE: &str = include_str!("../../../../../shaders/gemm_cooperative.wgsl");
const ATTENTION: &str = include_str!("../../../../../shaders/attention.wgsl");
const POOL: &str = include_str!("../../../../../shaders/pool.wgsl");

impl Program {
    pub fn label(self) -> &'static str {
        match self {
            Self::Embed { .. } => "embed",
            Self::Norm { .. } => "norm",
            Self::Gemm { .. } => "gemm",
            Self::CooperativeGemm { .. } => "gemm_cooperative",
            Self::Attention { .. } => "attention",
            Self::Pool { .. } => "pool",
        }
    }

    pub fn entry(self) -> &'static str {
        match self {
            Self::Embed { .. } => "embed",
            Self::Norm { .. } => "norm",
            Self::Gemm { .. } | Self::CooperativeGemm { .. } => "multiply",
            Self::Attention { .. } => "attend",
            Self::Pool { .. } => "pool",
        }
    }

    /// The whole module in WGSL.
    pub fn source(self, tier: Tier) -> String {
        let constants = self.constants();
        let mut source = String::new();
        if tier.activations() == Numbers::F16 {
            source.push_str("enable f16;\n");
        }
        if matches!(self, Self::CooperativeGemm { .. }) {
            source.push_str("enable wgpu_cooperative_matrix;\n");
        }
        for (name, value) in &constants {
            let _ = writeln!(source, "const {name} = {value}u;");
        }
        source.push_str(&types(tier.activations(), self.weights()));
        if let Self::CooperativeGemm { tile, .. } = self {
            source.push_str(&tile.types());
        }
        for file in self.files(tier) {
            source.push_str(&written_out(file, &constants));
        }
        source
    }

    fn weights(self) -> Numbers {
        match self {
            Self::Embed { weights, .. } | Self::Gemm { weights, .. } => weights,
            _ => Numbers::F16,
        }
    }

    fn files(self, tier: Tier) -> Vec<&'static str> {
        let reduce = match tier {
            Tier::Base => REDUCE_BASE,
            Tier::Subgroup | Tier::Cooperative(_) => REDUCE_SUBGROUP,
        };
        match self {
            Self::Embed { .. } => vec![reduce, ROW, EMBED],
            Self::Norm { .. } => vec![reduce, ROW, NORM],
            Self::Gemm { .. } => vec![EPILOGUE, GEMM],
            Self::CooperativeGemm { .. } => vec![EPILOGUE, GEMM_COOPERATIVE],
            Self::Attention { .. } => vec![ATTENTION],
            Self::Pool { .. } => vec![POOL],
        }
    }

    fn constants(self) -> Vec<(&'static str, u32)> {
        match self {
            Self::Embed { quads, positions, .. } => vec![
                ("QUADS", quads),
                ("THREADS", ROW_LANES),
                ("HAS_POSITIONS", u32::from(positions)),
            ],
            Self::Norm { quads } => vec![("QUADS", quads), ("THREADS", ROW_LANES)],
            Self::Gemm { product, .. } => product.constants(),
            Self::CooperativeGemm { product, tile } => {
                [product.constants(), tile.constants()].concat()
            }
            Self::Attention { quads, head_quads, alibi } => {
                let each = if head_quads <= TWO_QUERIES_MAX { 2 } else { 1 };
                vec![
                    ("QUADS", quads),
                    ("HEAD_QUADS", head_quads),
                    ("ALIBI", u32::from(alibi)),
                    ("EACH", each),
                    ("FOURS", 2),
                    ("LANES", QUERIES as u32 / each),
                ]
            }
            Self::Pool { quads, cls } => {
                vec![("QUADS", quads), ("THREADS", POOL_LANES), ("CLS", u32::from(cls))]
            }
        }
    }
}

impl Product {
    fn constants(self) -> Vec<(&'static str, u32)> {
        let activation = match self.end {
            RowEnd::Plain | RowEnd::Residual => 0,
            RowEnd::Gelu => 1,
            RowEnd::Geglu => 2,
        };
        vec![
            ("HAS_BIAS", u32::from(self.bias)),
            ("RESIDUAL", u32::from(self.end == RowEnd::Residual)),
            ("ACTIVATION", activation),
        ]
    }
}

/// How four numbers lie in memory, and the way from there to f32 and back.
fn types(activations: Numbers, weights: Numbers) -> String {
    let value = match activations {
        Numbers::F16 => "vec4<f16>",
        Numbers::F32 => "vec4<f32>",
    };
    // A device without f16 in its shaders can still take two of them apart.
    let (weight, to_f32) = match (weights, activations) {
        (Numbers::F32, _) => ("vec4<f32>", "weight"),
        (Numbers::F16, Numbers::F16) => ("vec4<f16>", "vec4<f32>(weight)"),
        (Numbers::F16, Numbers::F32) => {
            ("vec2<u32>", "vec4<f32>(unpack2x16float(weight.x), unpack2x16float(weight.y))")
        }
    };
    format!(
        "alias Value4 = {value};\nalias Weight4 = {weight};\n\
         fn value4(value: Value4) -> vec4<f32> {{ return vec4<f32>(value); }}\n\
         fn to_value4(value: vec4<f32>) -> Value4 {{ return Value4(value); }}\n\
         fn weight4(weight: Weight4) -> vec4<f32> {{ return {to_f32}; }}\n"
    )
}

/// `file` with the lines between `#each NAME COUNT` and `#end` repeated for 0, 1, … in place of `$NAME`. COUNT
/// is one of `constants`.
fn written_out(file: &str, constants: &[(&str, u32)]) -> String {
    let mut lines = file.lines();
    block(&mut lines, constants)
}

fn block<'a>(lines: &mut impl Iterator<Item = &'a str>, constants: &[(&str, u32)]) -> String {
    let mut text = String::new();
    while let Some(line) = lines.next() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("#end") => break,
            Some("#each") => {
                let (name, count) = (words.next().unwrap_or_default(), words.next());
                let body = block(lines, constants);
                let count = constants.iter().find(|(name, _)| Some(*name) == count);
                for at in 0..count.map_or(0, |(_, count)| *count) {
                    text.push_str(&body.replace(&format!("${name}"), &at.to_string()));
                }
            }
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}
