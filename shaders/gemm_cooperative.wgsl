// activation(x · weightᵀ + bias), or x · weightᵀ + bias + residual, by cooperative matrices: f16 operands,
// sums in f32 from the first input to the last.
//
// A workgroup is SUB_ROWS × SUB_COLUMNS subgroups, and each of them makes ROW_TILES × (WIDES · WIDE_TILES)
// matrices of SIZE × SIZE. While one step of inputs is multiplied, the next is on its way from memory to registers.
// `#each` lines are written out by `program.rs`, because the language has no arrays of matrices.

struct Scalars {
    rows: u32,
    // Quads of outputs, of both parts with GEGLU, and of inputs, which fill whole steps.
    outputs: u32,
    inputs: u32,
}

var<immediate> scalars: Scalars;

@group(0) @binding(0) var<storage, read> x: array<Value4>;
@group(0) @binding(1) var<storage, read> weight: array<Weight4>;
@group(0) @binding(2) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> residual: array<Value4>;
@group(0) @binding(4) var<storage, read_write> y: array<Value4>;

const TILE_ROWS = SUB_ROWS * ROW_TILES * SIZE;
const TILE_OUTPUTS = SUB_COLUMNS * WIDES * WIDE;
// Finished sums pass through memory of their subgroup: a row of WIDE_TILES matrices at a time.
const WIDE = WIDE_TILES * SIZE;
const SCRATCH = SIZE * WIDE;

struct Place {
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    @builtin(subgroup_id) subgroup: u32,
}

var<workgroup> left: array<Cell, TILE_ROWS * PITCH * CELLS>;
var<workgroup> right: array<Cell, TILE_OUTPUTS * PITCH * CELLS>;
var<workgroup> scratch: array<f32, SUB_ROWS * SUB_COLUMNS * SCRATCH>;

fn x_quad(row: u32, quad: u32) -> vec4<f16> {
    if row < scalars.rows {
        return x[row * scalars.inputs + quad];
    }
    return vec4<f16>();
}

fn weight_quad(row: u32, quad: u32) -> vec4<f16> {
    if row < 4u * scalars.outputs {
        return weight[row * scalars.inputs + quad];
    }
    return vec4<f16>();
}

fn scratch_quad(at: u32) -> vec4<f32> {
    return vec4<f32>(scratch[at], scratch[at + 1u], scratch[at + 2u], scratch[at + 3u]);
}

@compute @workgroup_size(THREADS)
fn multiply(place: Place) {
    let first_row = place.group.y * TILE_ROWS;
    let first_output = place.group.x * TILE_OUTPUTS;
    let sub_row = place.subgroup / SUB_COLUMNS * (ROW_TILES * SIZE);
    let sub_output = place.subgroup % SUB_COLUMNS * (WIDES * WIDE);
#each r ROW_TILES
#each w WIDES
#each c WIDE_TILES
    var sum_$r_$w_$c: Sums;
#end
#end
#end
#each i LEFT_LOADS
    let left_row_$i = (place.lane + $iu * THREADS) / STEP;
    let left_quad_$i = (place.lane + $iu * THREADS) % STEP;
    var left_next_$i = x_quad(first_row + left_row_$i, left_quad_$i);
#end
#each i RIGHT_LOADS
    let right_row_$i = (place.lane + $iu * THREADS) / STEP;
    let right_quad_$i = (place.lane + $iu * THREADS) % STEP;
    var right_next_$i = weight_quad(first_output + right_row_$i, right_quad_$i);
#end
    for (var at = 0u; at < scalars.inputs; at += STEP) {
        workgroupBarrier();
#each i LEFT_LOADS
        put_left(left_row_$i * PITCH + left_quad_$i, left_next_$i);
#end
#each i RIGHT_LOADS
        put_right(right_row_$i * PITCH + right_quad_$i, right_next_$i);
#end
        workgroupBarrier();
        let next = at + STEP;
        if next < scalars.inputs {
#each i LEFT_LOADS
            left_next_$i = x_quad(first_row + left_row_$i, next + left_quad_$i);
#end
#each i RIGHT_LOADS
            right_next_$i = weight_quad(first_output + right_row_$i, next + right_quad_$i);
#end
        }
#each k STEP_TILES
#each r ROW_TILES
        let a_$k_$r = coopLoadT<Left>(
            &left[((sub_row + $ru * SIZE) * PITCH + $ku * (SIZE / 4u)) * CELLS],
            PITCH * CELLS,
        );
#end
#each w WIDES
#each c WIDE_TILES
        let b_$k_$w_$c = coopLoad<Right>(
            &right[((sub_output + $wu * WIDE + $cu * SIZE) * PITCH + $ku * (SIZE / 4u)) * CELLS],
            PITCH * CELLS,
        );
#end
#end
#each r ROW_TILES
#each w WIDES
#each c WIDE_TILES
        sum_$r_$w_$c = coopMultiplyAdd(a_$k_$r, b_$k_$w_$c, sum_$r_$w_$c);
#end
#end
#end
#end
    }
    let mine = place.subgroup * SCRATCH;
#each r ROW_TILES
#each w WIDES
    {
        workgroupBarrier();
#each c WIDE_TILES
        coopStoreT(sum_$r_$w_$c, &scratch[mine + $cu * SIZE], WIDE);
#end
        workgroupBarrier();
        let output = (first_output + sub_output + $wu * WIDE) / 4u;
        let row = first_row + sub_row + $ru * SIZE;
        for (var at = place.subgroup_lane; at < SCRATCH / 4u; at += SUBGROUP) {
            let to_row = row + at / (WIDE / 4u);
            let quad = at % (WIDE / 4u);
            let to = output + quad;
            if to_row >= scalars.rows || to >= scalars.outputs {
                continue;
            }
            var value = scratch_quad(mine + 4u * at);
            if HAS_BIAS == 1u {
                value += bias[to];
            }
            if ACTIVATION == GEGLU {
                if quad % 2u == 1u {
                    continue;
                }
                var second = scratch_quad(mine + 4u * at + 4u);
                if HAS_BIAS == 1u {
                    second += bias[to + 1u];
                }
                value = gelu4(value) * second;
                y[to_row * (scalars.outputs / 2u) + to / 2u] = to_value4(value);
                continue;
            }
            if ACTIVATION == GELU {
                value = gelu4(value);
            }
            if RESIDUAL == 1u {
                value += value4(residual[to_row * scalars.outputs + to]);
            }
            y[to_row * scalars.outputs + to] = to_value4(value);
        }
    }
#end
#end
}
