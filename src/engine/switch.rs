//! The job that leads from one embedding model to the next while the one before goes on answering.

use std::fs::{File, TryLockError};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::loaded::name_of;
use super::model::LoadedModel;
use super::{Engine, EngineError, EngineEvent, Job, JobId, JobOutcome, jobs};
use crate::config::{ModelFiles, Settings};
use crate::inference::registry;
use crate::ingest::{self, IngestError, IngestReport, JobProgress, Outcome};
use crate::storage::{ModelUse, StorageError, SwitchEnd};

/// Held by the process that makes the vectors; the others look on and take over when it has gone.
const LOCK: &str = "switch.lock";

/// How often a process that looks on looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(300);

impl Engine {
    /// Chooses the embedding model of this name, for this start and those to come, and begins the switch
    /// to it. Searches are answered by the model before it until every document has vectors of the new
    /// one.
    ///
    /// # Errors
    /// When nothing is known under this name, or the choice cannot be written down.
    pub async fn use_model(&self, name: String) -> Result<Job, EngineError> {
        let inner = Arc::clone(&self.inner);
        let files = self
            .run_blocking(move || {
                let data_dir = &inner.config.data_dir;
                let known = Settings::load(data_dir)?.model_named(&name, data_dir);
                let files =
                    known.ok_or_else(|| EngineError::UnknownModel { name: name.clone() })?;
                if files.folder().is_some_and(|folder| !folder.is_dir()) {
                    return Err(EngineError::UnknownModel { name });
                }
                // Before it is written down: a choice that cannot be loaded would fail at every start.
                registry::check_embedding(&files)?;
                Settings::update(data_dir, |settings| settings.model = Some(name))?;
                Ok(files)
            })
            .await?;
        Ok(self.switch_model(files))
    }

    /// Waits until the store knows that the switch of this job is wanted, so that any process can go on
    /// with it; returns at once when the job has ended.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn wait_for_switch(&self, job: JobId) -> Result<(), EngineError> {
        loop {
            let inner = Arc::clone(&self.inner);
            let switch = self.run_blocking(move || Ok(inner.store.switch()?)).await?;
            if switch.is_some() || !self.inner.jobs.is_open(job) {
                return Ok(());
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Begins a switch, in place of another that runs here.
    pub(super) fn switch_model(&self, files: ModelFiles) -> Job {
        let label = format!("Switching to {}", files.name());
        let job = jobs::start(self, label, |engine, job, cancel| async move {
            let turn = Arc::clone(&engine.inner.jobs.switching);
            let _turn = turn.lock_owned().await;
            Switching { engine, job, cancel }.run(files).await
        });
        self.inner.jobs.cancel_switch_before(job.id());
        job
    }

    /// Takes up a switch that another process began and does not go on with.
    pub(super) async fn join_switch(&self) -> Result<(), EngineError> {
        let inner = Arc::clone(&self.inner);
        let Some(switch) = self.run_blocking(move || Ok(inner.store.switch()?)).await? else {
            return Ok(());
        };
        // One that was just begun here is not known by its target before its model is loaded.
        if !self.inner.jobs.is_switching()
            && self.inner.models.begin(&switch.to)
            && let Some(files) = self.files_named(&name_of(&switch.to)).await?
        {
            drop(self.switch_model(files));
        }
        Ok(())
    }
}

struct Switching {
    engine: Engine,
    job: JobId,
    cancel: watch::Receiver<bool>,
}

impl Switching {
    async fn run(self, files: ModelFiles) -> Result<JobOutcome, EngineError> {
        let model = files.name();
        if self.is_cancelled() {
            return Ok(JobOutcome::SwitchPaused { model });
        }
        let target = self.engine.load_model(&files).await?;
        self.engine.inner.models.begin(&target.stored);
        let (inner, stored) = (Arc::clone(&self.engine.inner), target.stored.clone());
        let choose = move || Ok(inner.store.choose_model(&stored)?);
        let mut report = IngestReport::default();
        if let ModelUse::Pending { .. } = self.engine.run_blocking(choose).await? {
            let made = self.make_vectors(&target, &mut report).await;
            match made {
                Ok(true) => {}
                Ok(false) => {
                    self.engine.let_go(&target).await;
                    return Ok(JobOutcome::SwitchPaused { model });
                }
                Err(error) => {
                    self.engine.let_go(&target).await;
                    return Err(error);
                }
            }
        }
        self.change_over(&target).await?;
        Ok(JobOutcome::Switched { model, report })
    }

    /// Whether the target is in use now; false when the job was cancelled before.
    async fn make_vectors(
        &self,
        target: &LoadedModel,
        report: &mut IngestReport,
    ) -> Result<bool, EngineError> {
        let pipeline = self.engine.pipeline(target);
        loop {
            let Some(_alone) = self.try_lock()? else {
                if self.look_on(target).await? {
                    return Ok(true);
                }
                if self.is_cancelled() {
                    return Ok(false);
                }
                continue;
            };
            let show = |progress| self.show(progress);
            match ingest::reembed(&pipeline, self.cancel.clone(), show).await {
                Ok(Outcome::Done(made)) => add(report, made),
                Ok(Outcome::Cancelled(_)) => return Ok(false),
                // Another process has finished it, or another model was chosen.
                Err(IngestError::Storage(StorageError::NotPending { .. })) => {}
                Err(error) => return Err(error.into()),
            }
            let inner = Arc::clone(&self.engine.inner);
            match self.engine.run_blocking(move || Ok(inner.store.finish_switch()?)).await? {
                SwitchEnd::Done => return Ok(true),
                // Indexed since the last look.
                SwitchEnd::Missing(_) => {}
                SwitchEnd::NotSwitching => {
                    if self.look_on(target).await? {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Shows how far another process is; whether it is done.
    async fn look_on(&self, target: &LoadedModel) -> Result<bool, EngineError> {
        let inner = Arc::clone(&self.engine.inner);
        let look = move || Ok((inner.store.switch()?, inner.store.model()?));
        let (switch, in_use) = self.engine.run_blocking(look).await?;
        if in_use.is_some_and(|in_use| in_use.model == target.stored) {
            return Ok(true);
        }
        let Some(switch) = switch.filter(|switch| switch.to == target.stored) else {
            return Err(EngineError::SwitchGivenUp { model: name_of(&target.stored) });
        };
        self.show(JobProgress {
            files_done: switch.embedded,
            files_total: switch.documents,
            ..JobProgress::default()
        });
        tokio::time::sleep(LOOK_INTERVAL).await;
        Ok(false)
    }

    /// Lets queries and indexes go over to the new model.
    async fn change_over(&self, target: &LoadedModel) -> Result<(), EngineError> {
        loop {
            self.engine.follow_model().await?;
            let snapshot = self.engine.inner.indexes.snapshot();
            // A cancelled job leaves the rest to whoever follows the store.
            if snapshot.model() == Some(&target.stored) || self.is_cancelled() {
                return Ok(());
            }
            // Another process is writing the keyword index, or has changed the model once more.
            if self.engine.stored_model().await?.as_ref() != Some(&target.stored) {
                return Ok(());
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    fn show(&self, progress: JobProgress) {
        self.engine.emit(EngineEvent::JobProgress { job: self.job, progress });
    }

    fn is_cancelled(&self) -> bool {
        *self.cancel.borrow()
    }

    fn try_lock(&self) -> Result<Option<File>, EngineError> {
        let path = self.engine.inner.config.data_dir.join(LOCK);
        let directory = |source| EngineError::Directory { path: path.clone(), source };
        let file = File::create(&path).map_err(directory)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(directory(source)),
        }
    }
}

fn add(report: &mut IngestReport, made: IngestReport) {
    report.indexed += made.indexed;
    report.chunks += made.chunks;
    report.tokens += made.tokens;
    report.seconds += made.seconds;
    report.skipped.extend(made.skipped);
}
