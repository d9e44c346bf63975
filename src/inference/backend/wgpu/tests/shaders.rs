//! What the kernels become for drivers that cannot be run here.

use naga::back::msl;
use naga::valid::{Capabilities, ValidationFlags, Validator};

use super::super::kernels::program::Tile;
use super::super::tier::MatrixSize;
use super::*;

const TIERS: [Tier; 4] = [
    Tier::Base,
    Tier::Subgroup,
    Tier::Cooperative(MatrixSize::Eight),
    Tier::Cooperative(MatrixSize::Sixteen),
];

/// Every kind of program that a tier runs.
fn programs(tier: Tier) -> Vec<Program> {
    let ends = [RowEnd::Plain, RowEnd::Gelu, RowEnd::Geglu, RowEnd::Residual];
    let products = ends.map(|end| Product { bias: end != RowEnd::Geglu, end });
    let mut programs = vec![
        Program::Embed { quads: 96, positions: true, weights: Numbers::F16 },
        Program::Embed { quads: 8, positions: false, weights: Numbers::F16 },
        Program::Norm { quads: 96 },
        Program::Attention { quads: 96, head_quads: 8, alibi: false },
        Program::Attention { quads: 192, head_quads: 16, alibi: true },
        Program::Pool { quads: 96, cls: false },
        Program::Pool { quads: 96, cls: true },
    ];
    for product in products {
        programs.push(Program::Gemm { product, weights: Numbers::F16 });
        match tier {
            Tier::Base => programs.push(Program::Gemm { product, weights: Numbers::F32 }),
            Tier::Subgroup => {}
            Tier::Cooperative(size) => programs.extend([1, 1_000].map(|rows| {
                Program::CooperativeGemm { product, tile: Tile::for_rows(size, rows, 48 << 10) }
            })),
        }
    }
    programs
}

fn module(program: Program, tier: Tier) -> (naga::Module, naga::valid::ModuleInfo) {
    let source = program.source(tier);
    let module = naga::front::wgsl::parse_str(&source)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)));
    let info = Validator::new(ValidationFlags::all(), Capabilities::all())
        .validate(&module)
        .unwrap_or_else(|error| panic!("{program:?}: {}", error.emit_to_string(&source)));
    (module, info)
}

fn metal(program: Program, tier: Tier) -> String {
    let (module, info) = module(program, tier);
    let mut resources = msl::EntryPointResources {
        immediates_buffer: Some(30),
        sizes_buffer: Some(29),
        ..msl::EntryPointResources::default()
    };
    for binding in 0..7 {
        let place = naga::ResourceBinding { group: 0, binding };
        let target = msl::BindTarget {
            buffer: Some(binding as u8),
            mutable: true,
            ..msl::BindTarget::default()
        };
        resources.resources.insert(place, target);
    }
    let options = msl::Options {
        lang_version: (2, 4),
        per_entry_point_map: [(program.entry().to_owned(), resources)].into_iter().collect(),
        fake_missing_bindings: false,
        ..msl::Options::default()
    };
    let (text, _) =
        msl::write_string(&module, &info, &options, &msl::PipelineOptions::default()).unwrap();
    text
}

#[test]
fn every_kernel_of_every_tier_is_valid() {
    for tier in TIERS {
        for program in programs(tier) {
            module(program, tier);
        }
    }
}

/// As far as this can be known where there is no Metal: naga writes it, and its brackets close.
#[test]
fn every_kernel_can_be_written_for_metal() {
    for tier in &TIERS[..3] {
        for program in programs(*tier) {
            let text = metal(program, *tier);
            assert!(text.contains("kernel void"), "{program:?}");
            for (open, close) in [('{', '}'), ('(', ')'), ('[', ']')] {
                let count = |bracket| text.chars().filter(|c| *c == bracket).count();
                assert_eq!(count(open), count(close), "{program:?}");
            }
        }
    }
}

/// Metal has matrices of 8 × 8 alone, and naga writes whatever it is given.
#[test]
fn metal_gets_matrices_that_it_has() {
    let product = Product { bias: true, end: RowEnd::Gelu };
    let program =
        |size| Program::CooperativeGemm { product, tile: Tile::for_rows(size, 1_000, 48 << 10) };
    let eight = Tier::Cooperative(MatrixSize::Eight);
    let text = metal(program(MatrixSize::Eight), eight);
    assert!(text.contains("simdgroup_float8x8") && !text.contains("16x16"), "{text}");
    // Its loads take numbers, so workgroup memory holds numbers.
    assert!(text.contains("half") && !text.contains("threadgroup metal::half4"), "{text}");
    let sixteen = Tier::Cooperative(MatrixSize::Sixteen);
    assert!(metal(program(MatrixSize::Sixteen), sixteen).contains("simdgroup_float16x16"));
}

/// Lines between `#each` and `#end` are written out, one within another.
#[test]
fn repeated_lines_are_written_out() {
    for size in [MatrixSize::Eight, MatrixSize::Sixteen] {
        let tile = Tile::for_rows(size, 1_000, 48 << 10);
        let product = Product { bias: false, end: RowEnd::Plain };
        let program = Program::CooperativeGemm { product, tile };
        let text = program.source(Tier::Cooperative(size));
        assert!(!text.contains('$') && text.lines().all(|line| !line.starts_with('#')), "{text}");
        let sums = text.matches(": Sums;").count() as u32;
        let matrices = tile.row_tiles * tile.wides * 32 / size.get();
        assert_eq!(sums, matrices);
    }
}

/// Workgroup memory of a kernel stays within what every desktop driver has, or for large cooperative tiles what those
/// with such matrices have.
#[test]
fn workgroup_memory_stays_in_bounds() {
    for tier in TIERS {
        for program in programs(tier) {
            let (module, _) = module(program, tier);
            let mut layouter = naga::proc::Layouter::default();
            layouter.update(module.to_ctx()).unwrap();
            let bytes: u32 = module
                .global_variables
                .iter()
                .filter(|(_, variable)| variable.space == naga::AddressSpace::WorkGroup)
                .map(|(_, variable)| layouter[variable.ty].size)
                .sum();
            let most = match program {
                Program::CooperativeGemm { .. } => 48 << 10,
                _ => 16 << 10,
            };
            assert!(bytes <= most, "{program:?} takes {bytes} bytes");
        }
    }
}
