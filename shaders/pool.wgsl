// The rows of a sequence become one: their mean, or the first. A workgroup is a sequence and THREADS
// quads of its columns.

struct Scalars {
    // Where in `inputs` the sequences begin: first row and number of rows of each.
    sequences: u32,
}

var<immediate> scalars: Scalars;

@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> rows: array<Value4>;
@group(0) @binding(2) var<storage, read_write> pooled: array<vec4<f32>>;

@compute @workgroup_size(THREADS)
fn pool(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let quad = group.y * THREADS + lane;
    if quad >= QUADS {
        return;
    }
    let first = inputs[scalars.sequences + 2u * group.x];
    let count = select(inputs[scalars.sequences + 2u * group.x + 1u], 1u, CLS == 1u);
    var sum = vec4<f32>();
    for (var row = 0u; row < count; row++) {
        sum += value4(rows[(first + row) * QUADS + quad]);
    }
    pooled[group.x * QUADS + quad] = sum / f32(count);
}
