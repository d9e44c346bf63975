//! A step of the encoder on the CPU asks the system for nothing but its answers, once it is warm.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use lodestone::config::{DeviceChoice, ModelFiles};
use lodestone::data::TokenBatch;
use lodestone::gpu::{EncoderModel, Lane, Model};
use lodestone::inference::EmbeddingModel;

/// The system's allocator, counting what each thread asks for.
struct Counting;

thread_local! {
    static TIMES: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Never part of what allocates: inlined everywhere, it made LLVM 22 crash.
#[inline(never)]
fn count(bytes: usize) {
    TIMES.set(TIMES.get() + 1);
    BYTES.set(BYTES.get() + bytes);
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Times and bytes that `work` asked for on this thread.
fn asked_by<T>(work: impl FnOnce() -> T) -> (usize, usize) {
    let before = (TIMES.get(), BYTES.get());
    let kept = work();
    let after = (TIMES.get(), BYTES.get());
    drop(kept);
    (after.0 - before.0, after.1 - before.1)
}

fn encoder() -> Box<dyn EncoderModel> {
    let model = EmbeddingModel::open(&ModelFiles::Bundled).unwrap();
    // One thread, so that all that a step does is seen here.
    let loader = model.into_loader(DeviceChoice::Cpu, 1).unwrap();
    let mut upload = loader.prepare(Lane { index: 0, lanes: 1 }).unwrap();
    loop {
        match upload.step().unwrap() {
            Some(Model::Encoder(encoder)) => return encoder,
            Some(Model::Decoder(_)) => panic!("the bundled model is an encoder"),
            None => {}
        }
    }
}

fn batch(lengths: &[usize]) -> TokenBatch {
    let mut batch = TokenBatch::default();
    for length in lengths {
        let ids: Vec<u32> = (0..*length as u32).map(|at| 1_000 + at).collect();
        batch.push(&ids);
    }
    batch
}

#[test]
fn a_step_allocates_its_answers_and_its_plan_alone() {
    let mut encoder = encoder();
    let batches = [batch(&[100, 30, 60]), batch(&[12]), batch(&[40, 40, 40])];
    for batch in &batches {
        encoder.embed(batch).unwrap();
    }
    for batch in &batches {
        let (times, bytes) = asked_by(|| encoder.embed(batch).unwrap());
        let answers = batch.sequences() * encoder.info().dim * size_of::<f32>();
        // An answer is a row before it is an embedding; and there are lists of answers, sequences and
        // pieces.
        let times_max = 2 * batch.sequences() + 8;
        assert!(times <= times_max, "{times} times for {} answers", batch.sequences());
        assert!(bytes <= 2 * answers + 2_048, "{bytes} bytes for {answers} of answers");
    }
}

/// The counter sees what it should see.
#[test]
fn what_a_thread_asks_for_is_counted() {
    assert_eq!(asked_by(|| Vec::<u8>::with_capacity(100)), (1, 100));
    assert_eq!(asked_by(|| 7), (0, 0));
}
