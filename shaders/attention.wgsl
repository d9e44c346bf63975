// softmax(q · kᵀ / √d + bias) · v of one head for 64 queries of one sequence, with a running maximum and
// sum (Milakov & Gimelshein 2018), so that no score is ever written to memory. A lane is a query.
//
// ALiBi takes slope · distance from a score.

struct Scalars {
    // Where in `inputs` the tiles begin (first row of the sequence, its rows, first query of the tile),
    // and the slopes.
    tiles: u32,
    slopes: u32,
    scale: f32,
}

var<immediate> scalars: Scalars;

@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> qkv: array<Value4>;
@group(0) @binding(2) var<storage, read_write> mixed: array<Value4>;

const KEYS = 32u;

var<workgroup> keys: array<vec4<f32>, KEYS * HEAD_QUADS>;
var<workgroup> values: array<vec4<f32>, KEYS * HEAD_QUADS>;

fn score(query: ptr<function, array<vec4<f32>, HEAD_QUADS>>, key: u32) -> f32 {
    var sum = vec4<f32>();
    for (var at = 0u; at < HEAD_QUADS; at++) {
        sum += (*query)[at] * keys[key * HEAD_QUADS + at];
    }
    return (sum.x + sum.y) + (sum.z + sum.w);
}

@compute @workgroup_size(64)
fn attend(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tile = scalars.tiles + 3u * group.x;
    let first = inputs[tile];
    let count = inputs[tile + 1u];
    let query_at = inputs[tile + 2u] + lane;
    let head = group.y * HEAD_QUADS;
    // Lanes beyond the sequence repeat its last query and write nothing.
    let query_row = (first + min(query_at, count - 1u)) * 3u * QUADS + head;
    var slope = 0.0;
    if ALIBI == 1u {
        slope = bitcast<f32>(inputs[scalars.slopes + group.y]);
    }
    var query: array<vec4<f32>, HEAD_QUADS>;
    var sum: array<vec4<f32>, HEAD_QUADS>;
    for (var at = 0u; at < HEAD_QUADS; at++) {
        query[at] = value4(qkv[query_row + at]) * scalars.scale;
        sum[at] = vec4<f32>();
    }
    var greatest = -1e30;
    var weights = 0.0;
    for (var tile_key = 0u; tile_key < count; tile_key += KEYS) {
        workgroupBarrier();
        for (var at = lane; at < KEYS * HEAD_QUADS; at += 64u) {
            let key = min(tile_key + at / HEAD_QUADS, count - 1u);
            let from_row = (first + key) * 3u * QUADS + head + at % HEAD_QUADS;
            keys[at] = value4(qkv[from_row + QUADS]);
            values[at] = value4(qkv[from_row + 2u * QUADS]);
        }
        workgroupBarrier();
        let there = min(KEYS, count - tile_key);
        for (var key = 0u; key < there; key += 4u) {
            var scores = vec4<f32>(
                score(&query, key),
                score(&query, key + 1u),
                score(&query, key + 2u),
                score(&query, key + 3u),
            );
            let at = vec4<u32>(key) + vec4<u32>(0u, 1u, 2u, 3u);
            if ALIBI == 1u {
                let distance = abs(vec4<f32>(at + tile_key) - f32(query_at));
                scores -= slope * distance;
            }
            scores = select(vec4<f32>(-1e30), scores, at < vec4<u32>(there));
            let now = max(greatest, max(max(scores.x, scores.y), max(scores.z, scores.w)));
            let shrink = exp(greatest - now);
            let weight = exp(scores - now);
            greatest = now;
            weights = weights * shrink + ((weight.x + weight.y) + (weight.z + weight.w));
            for (var d = 0u; d < HEAD_QUADS; d++) {
                let value = key * HEAD_QUADS + d;
                sum[d] = sum[d] * shrink
                    + weight.x * values[value]
                    + weight.y * values[value + HEAD_QUADS]
                    + weight.z * values[value + 2u * HEAD_QUADS]
                    + weight.w * values[value + 3u * HEAD_QUADS];
            }
        }
    }
    if query_at < count {
        let to_row = (first + query_at) * QUADS + head;
        for (var at = 0u; at < HEAD_QUADS; at++) {
            mixed[to_row + at] = to_value4(sum[at] / weights);
        }
    }
}
