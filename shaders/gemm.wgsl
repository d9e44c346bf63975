// activation(x · weightᵀ + bias), or x · weightᵀ + bias + residual, on any device.
//
// A workgroup of 16 × 16 lanes makes a tile of 64 × 64, and each lane 4 × 4 of it. Both operands are
// brought in transposed, 32 inputs at a time, so that a lane reads its four rows as one vector.
// With GEGLU the rows of `weight` come four of the first part and four of the second in turn, so lanes side by side
// hold what belongs together.

struct Scalars {
    rows: u32,
    // Quads of outputs, of both parts with GEGLU, and of inputs.
    outputs: u32,
    inputs: u32,
}

var<immediate> scalars: Scalars;

@group(0) @binding(0) var<storage, read> x: array<Value4>;
@group(0) @binding(1) var<storage, read> weight: array<Weight4>;
@group(0) @binding(2) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> residual: array<Value4>;
@group(0) @binding(4) var<storage, read_write> y: array<Value4>;

// [input][row / 4]: 32 × 16.
var<workgroup> left: array<vec4<f32>, 512>;
var<workgroup> right: array<vec4<f32>, 512>;

fn x_quad(row: u32, quad: u32) -> vec4<f32> {
    if row < scalars.rows && quad < scalars.inputs {
        return value4(x[row * scalars.inputs + quad]);
    }
    return vec4<f32>();
}

fn weight_quad(row: u32, quad: u32) -> vec4<f32> {
    if row < 4u * scalars.outputs && quad < scalars.inputs {
        return weight4(weight[row * scalars.inputs + quad]);
    }
    return vec4<f32>();
}

fn write(row: u32, quad: u32, columns: u32, sums: vec4<f32>) {
    if row < scalars.rows && quad < columns {
        var value = sums;
        if RESIDUAL == 1u {
            value += value4(residual[row * columns + quad]);
        }
        y[row * columns + quad] = to_value4(value);
    }
}

@compute @workgroup_size(256)
fn multiply(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first_row = group.y * 64u;
    let first_output = group.x * 64u;
    let four = lane % 16u;
    let quad = (lane / 16u) % 8u;
    let column = lane % 16u;
    let row = lane / 16u;
    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var at = 0u; at < scalars.inputs; at += 8u) {
        workgroupBarrier();
        let to = quad * 64u + four;
        if lane < 128u {
            let from_row = first_row + 4u * four;
            let a = x_quad(from_row, at + quad);
            let b = x_quad(from_row + 1u, at + quad);
            let c = x_quad(from_row + 2u, at + quad);
            let d = x_quad(from_row + 3u, at + quad);
            left[to] = vec4<f32>(a.x, b.x, c.x, d.x);
            left[to + 16u] = vec4<f32>(a.y, b.y, c.y, d.y);
            left[to + 32u] = vec4<f32>(a.z, b.z, c.z, d.z);
            left[to + 48u] = vec4<f32>(a.w, b.w, c.w, d.w);
        } else {
            let from_row = first_output + 4u * four;
            let a = weight_quad(from_row, at + quad);
            let b = weight_quad(from_row + 1u, at + quad);
            let c = weight_quad(from_row + 2u, at + quad);
            let d = weight_quad(from_row + 3u, at + quad);
            right[to] = vec4<f32>(a.x, b.x, c.x, d.x);
            right[to + 16u] = vec4<f32>(a.y, b.y, c.y, d.y);
            right[to + 32u] = vec4<f32>(a.z, b.z, c.z, d.z);
            right[to + 48u] = vec4<f32>(a.w, b.w, c.w, d.w);
        }
        workgroupBarrier();
        for (var input = 0u; input < 32u; input++) {
            let a = left[input * 16u + row];
            let b = right[input * 16u + column];
            sum0 += a.x * b;
            sum1 += a.y * b;
            sum2 += a.z * b;
            sum3 += a.w * b;
        }
    }
    let output = first_output / 4u + column;
    if HAS_BIAS == 1u && output < scalars.outputs {
        let add = bias[output];
        sum0 += add;
        sum1 += add;
        sum2 += add;
        sum3 += add;
    }
    let to_row = first_row + 4u * row;
    if ACTIVATION == GEGLU {
        // Odd columns hand over the second part.
        workgroupBarrier();
        let place = row * 8u + column / 2u;
        if column % 2u == 1u {
            left[place] = sum0;
            left[place + 128u] = sum1;
            left[place + 256u] = sum2;
            left[place + 384u] = sum3;
        }
        workgroupBarrier();
        if column % 2u == 0u {
            let columns = scalars.outputs / 2u;
            write(to_row, output / 2u, columns, gelu4(sum0) * left[place]);
            write(to_row + 1u, output / 2u, columns, gelu4(sum1) * left[place + 128u]);
            write(to_row + 2u, output / 2u, columns, gelu4(sum2) * left[place + 256u]);
            write(to_row + 3u, output / 2u, columns, gelu4(sum3) * left[place + 384u]);
        }
        return;
    }
    if ACTIVATION == GELU {
        sum0 = gelu4(sum0);
        sum1 = gelu4(sum1);
        sum2 = gelu4(sum2);
        sum3 = gelu4(sum3);
    }
    write(to_row, output, scalars.outputs, sum0);
    write(to_row + 1u, output, scalars.outputs, sum1);
    write(to_row + 2u, output, scalars.outputs, sum2);
    write(to_row + 3u, output, scalars.outputs, sum3);
}
