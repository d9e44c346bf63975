// Word + position + token type of a token, then the norm. A workgroup is a token.

struct Scalars {
    // Where in `inputs` the ids and the positions begin.
    ids: u32,
    positions: u32,
    epsilon: f32,
}

var<immediate> scalars: Scalars;

@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> words: array<Weight4>;
@group(0) @binding(2) var<storage, read> positions: array<Weight4>;
@group(0) @binding(3) var<storage, read> token_type: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> gain: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> rows: array<Value4>;

@compute @workgroup_size(THREADS)
fn embed(place: Place) {
    let token = place.group.x;
    let word = inputs[scalars.ids + token] * QUADS;
    let position = inputs[scalars.positions + token] * QUADS;
    var held: Held;
    for (var at = 0u; at < HELD; at++) {
        let quad = at * THREADS + place.lane;
        if quad < QUADS {
            var sum = weight4(words[word + quad]) + token_type[quad];
            if HAS_POSITIONS == 1u {
                sum += weight4(positions[position + quad]);
            }
            held[at] = sum;
        }
    }
    let scale = normalized(&held, scalars.epsilon, place);
    for (var at = 0u; at < HELD; at++) {
        let quad = at * THREADS + place.lane;
        if quad < QUADS {
            let row = (held[at] - scale.x) * scale.y * gain[quad] + bias[quad];
            rows[token * QUADS + quad] = to_value4(row);
        }
    }
}
