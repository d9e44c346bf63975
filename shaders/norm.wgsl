// Normalization of rows. A workgroup is a row.

struct Scalars {
    epsilon: f32,
}

var<immediate> scalars: Scalars;

@group(0) @binding(0) var<storage, read> sums: array<Value4>;
@group(0) @binding(1) var<storage, read> gain: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> rows: array<Value4>;

@compute @workgroup_size(THREADS)
fn norm(place: Place) {
    let first = place.group.x * QUADS;
    var held: Held;
    for (var at = 0u; at < HELD; at++) {
        let quad = at * THREADS + place.lane;
        if quad < QUADS {
            held[at] = value4(sums[first + quad]);
        }
    }
    let scale = normalized(&held, scalars.epsilon, place);
    for (var at = 0u; at < HELD; at++) {
        let quad = at * THREADS + place.lane;
        if quad < QUADS {
            let row = (held[at] - scale.x) * scale.y * gain[quad] + bias[quad];
            rows[first + quad] = to_value4(row);
        }
    }
}
