//! Which device a model runs on: the best that opens, has room and computes right numbers.
//!
//! Devices are tried in order. What a device does wrong becomes a notice of the model that then runs on
//! the next one, so that a person can see why the machine is slower than it could be.

mod cpu;
mod guarded;
mod self_test;
#[cfg(feature = "wgpu")]
mod wgpu;

pub(super) use self::cpu::loader as cpu_loader;
pub(super) use self_test::{Oracle, SelfTest};

use self::guarded::Guarded;
#[cfg(feature = "wgpu")]
pub(super) use self::wgpu::loader as wgpu_loader;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use tracing::warn;

use crate::config::DeviceChoice;
use crate::data::Embedding;
use crate::gpu::{DeviceKind, EncoderModel, Lane, Model, ModelError, ModelLoader, ModelUpload};
use crate::inference::backend::candle::CandleBackend;
use crate::platform;

/// A device that a model can be loaded onto.
pub(super) struct Candidate {
    pub kind: DeviceKind,
    pub loader: Arc<dyn ModelLoader>,
}

/// Kinds of devices that an encoder of this program may run on, best first. Without a word from a person
/// a GPU is looked for only where there may be one.
pub(super) fn for_encoders(choice: DeviceChoice) -> Vec<DeviceKind> {
    let mut kinds: Vec<_> = CandleBackend::kinds().collect();
    let wanted =
        choice == DeviceChoice::Wgpu || choice == DeviceChoice::Auto && platform::may_have_gpu();
    if cfg!(feature = "wgpu") && wanted {
        kinds.push(DeviceKind::Wgpu);
        kinds.sort_unstable();
    }
    kinds
}

/// The kinds to try for `choice`, of those that the program was `built` for, best first; with the
/// reason when they do not begin with the best or the chosen one. The CPU is always the last.
pub(super) fn order(
    choice: DeviceChoice,
    built: &[DeviceKind],
) -> (Vec<DeviceKind>, Option<String>) {
    let chosen = match choice {
        DeviceChoice::Auto => return (built.to_vec(), None),
        DeviceChoice::Metal => DeviceKind::Metal,
        DeviceChoice::Cuda => DeviceKind::Cuda,
        DeviceChoice::Wgpu => DeviceKind::Wgpu,
        DeviceChoice::Cpu => DeviceKind::Cpu,
    };
    let name = name(chosen);
    if chosen == DeviceKind::Cpu {
        let better = built.iter().any(|kind| *kind != DeviceKind::Cpu);
        return (vec![chosen], better.then(|| format!("{name} was chosen")));
    }
    if built.contains(&chosen) {
        return (vec![chosen, DeviceKind::Cpu], None);
    }
    (
        vec![DeviceKind::Cpu],
        Some(format!("{name} was chosen, but this program is built without it")),
    )
}

/// For people.
pub(super) fn name(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Metal => "Metal",
        DeviceKind::Cuda => "CUDA",
        DeviceKind::Wgpu => "wgpu",
        DeviceKind::Cpu => "CPU",
    }
}

/// Loads an encoder onto the first of several devices that passes the self-test.
pub(super) struct DeviceLoader {
    /// At least one.
    pub candidates: Arc<[Candidate]>,
    pub self_test: Arc<SelfTest>,
    /// Why the candidates are not those that one would expect.
    pub notice: Option<String>,
}

impl ModelLoader for DeviceLoader {
    fn prepare(&self, lane: Lane) -> Result<Box<dyn ModelUpload>, ModelError> {
        // What is wrong with the files is wrong on every device.
        let upload = self.candidates[0].loader.prepare(lane)?;
        let expected = self.self_test.expected(self.candidates[0].kind, lane)?;
        Ok(Box::new(DeviceUpload {
            candidates: Arc::clone(&self.candidates),
            at: 0,
            lane,
            self_test: Arc::clone(&self.self_test),
            expected,
            notices: self.notice.clone().into_iter().collect(),
            state: State::Uploading(upload),
        }))
    }
}

struct DeviceUpload {
    candidates: Arc<[Candidate]>,
    /// The candidate whose turn it is.
    at: usize,
    lane: Lane,
    self_test: Arc<SelfTest>,
    expected: Option<Vec<Embedding>>,
    notices: Vec<String>,
    state: State,
}

enum State {
    Uploading(Box<dyn ModelUpload>),
    /// Another thread converts the weights for the next device.
    Preparing(Receiver<Result<Box<dyn ModelUpload>, ModelError>>),
}

/// How long one step waits for weights that are being converted.
const PREPARING_STEP: Duration = Duration::from_millis(1);

impl ModelUpload for DeviceUpload {
    fn step(&mut self) -> Result<Option<Model>, ModelError> {
        match &mut self.state {
            State::Preparing(prepared) => match prepared.recv_timeout(PREPARING_STEP) {
                Ok(upload) => self.state = State::Uploading(upload?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ModelError::new("converting the weights crashed"));
                }
            },
            State::Uploading(upload) => {
                // A driver that is not there makes some libraries panic.
                let step = catch_unwind(AssertUnwindSafe(|| upload.step()));
                match step.unwrap_or_else(|panic| Err(ModelError::new(message(&*panic)))) {
                    Ok(None) => {}
                    Ok(Some(model)) => match self.test(model) {
                        Ok(model) => return Ok(Some(model)),
                        Err(error) => self.fall_back(error)?,
                    },
                    Err(error) => self.fall_back(error)?,
                }
            }
        }
        Ok(None)
    }
}

impl DeviceUpload {
    /// Gives the model back when it computes what it should.
    fn test(&mut self, model: Model) -> Result<Model, ModelError> {
        let encoder = tested(model, &self.self_test, self.expected.as_deref())?;
        let guarded = Guarded {
            encoder,
            notices: std::mem::take(&mut self.notices),
            candidates: Arc::clone(&self.candidates),
            at: self.at,
            lane: self.lane,
            self_test: Arc::clone(&self.self_test),
            lost: false,
            begun: VecDeque::new(),
        };
        Ok(Model::Encoder(Box::new(guarded)))
    }

    /// Goes on with the next device, or ends with `error` when there is none.
    fn fall_back(&mut self, error: ModelError) -> Result<(), ModelError> {
        let failed = self.candidates[self.at].kind;
        if self.at + 1 == self.candidates.len() {
            return Err(error);
        }
        warn!(device = name(failed), %error, "the device is not used");
        self.notices.push(format!("{} is not used: {error}", name(failed)));
        self.at += 1;
        let (send, prepared) = mpsc::channel();
        let (loader, lane) = (Arc::clone(&self.candidates[self.at].loader), self.lane);
        std::thread::Builder::new()
            .name("model-fallback".to_owned())
            .spawn(move || send.send(loader.prepare(lane)))
            .map_err(ModelError::new)?;
        self.state = State::Preparing(prepared);
        Ok(())
    }
}

/// The encoder of a model that computes what is expected of it.
fn tested(
    model: Model,
    self_test: &SelfTest,
    expected: Option<&[Embedding]>,
) -> Result<Box<dyn EncoderModel>, ModelError> {
    let Model::Encoder(mut encoder) = model else {
        return Err(ModelError::new("the model is no encoder"));
    };
    if let Some(expected) = expected {
        let run = catch_unwind(AssertUnwindSafe(|| self_test.check(&mut *encoder, expected)));
        run.unwrap_or_else(|panic| Err(ModelError::new(message(&*panic))))?;
    }
    Ok(encoder)
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("it crashed: {}", text.unwrap_or("no message"))
}

#[cfg(test)]
mod tests;
