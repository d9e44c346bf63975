use lodestone::engine::{EngineEvent, ModelState, QueueCounts, Status};

use crate::ui::wording::counted;

/// What the status bar tells: model, device, amounts and trouble.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    model: Option<ModelState>,
    pub documents: u64,
    pub passages: u64,
    pub skipped: u64,
    /// Jobs that have not ended, and the files that they have left.
    waiting: Option<u64>,
    pub notices: Vec<String>,
    /// False until the first status has arrived, so that an index being opened is not called empty.
    pub known: bool,
}

impl Health {
    pub fn apply(&mut self, event: &EngineEvent) {
        match event {
            EngineEvent::Model(model) => self.model = Some(model.clone()),
            EngineEvent::IndexChanged { documents, passages } => {
                self.documents = *documents;
                self.passages = *passages;
            }
            EngineEvent::JobStarted { .. }
            | EngineEvent::JobProgress { .. }
            | EngineEvent::CrawlProgress { .. }
            | EngineEvent::SitesChanged
            | EngineEvent::JobFinished { .. }
            | EngineEvent::Pace(_) => {}
        }
    }

    pub fn refresh(&mut self, status: &Status) {
        self.model = Some(status.model.clone());
        self.documents = status.documents;
        self.passages = status.passages;
        self.skipped = status.skipped.len() as u64;
        let QueueCounts { queued, extracting, embedded, .. } = status.queue.counts;
        self.waiting = (status.queue.runs > 0).then_some(queued + extracting + embedded);
        self.notices.clone_from(&status.notices);
        self.known = true;
    }

    pub fn is_empty(&self) -> bool {
        self.known && self.documents == 0
    }

    pub fn is_loading(&self) -> bool {
        matches!(self.model, None | Some(ModelState::Loading { .. }))
    }

    /// Why the model is missing, and what can be done.
    pub fn failure(&self) -> Option<&str> {
        match &self.model {
            Some(ModelState::Failed { reason, .. }) => Some(reason),
            _ => None,
        }
    }

    /// `CPU, AVX-512` with the model's name, or what the model is doing.
    pub fn model(&self) -> String {
        match &self.model {
            None => "Starting".to_owned(),
            Some(ModelState::Loading { model }) => format!("Loading {model}"),
            Some(ModelState::Ready { model, device }) => format!("{device} · {model}"),
            Some(ModelState::Failed { .. }) => "Words only: the model failed".to_owned(),
        }
    }

    /// The device in use, and why it is not a better one.
    pub fn device(&self) -> String {
        match &self.model {
            Some(ModelState::Ready { device, .. }) => device.clone(),
            Some(ModelState::Failed { .. }) => "None: the model failed".to_owned(),
            None | Some(ModelState::Loading { .. }) => "Being chosen".to_owned(),
        }
    }

    pub fn model_name(&self) -> String {
        match &self.model {
            None => "Starting".to_owned(),
            Some(
                ModelState::Loading { model }
                | ModelState::Ready { model, .. }
                | ModelState::Failed { model, .. },
            ) => model.clone(),
        }
    }

    /// What there is to say while no job runs here.
    pub fn standing(&self) -> Option<String> {
        match (self.waiting, self.documents) {
            (None, 0) => None,
            (None, _) => Some("Up to date".to_owned()),
            (Some(0), _) => Some("Waiting".to_owned()),
            (Some(files), _) => Some(format!("{} waiting", counted(files, "file"))),
        }
    }

    /// `1,204 documents · 23,410 passages`.
    pub fn amounts(&self) -> String {
        let documents = counted(self.documents, "document");
        format!("{documents} · {}", counted(self.passages, "passage"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_told_in_words() {
        let mut health = Health::default();
        assert_eq!(health.model(), "Starting");
        assert!(health.is_loading() && !health.is_empty());
        let ready = ModelState::Ready { model: "MiniLM".into(), device: "CPU, AVX-512".into() };
        health.apply(&EngineEvent::Model(ready));
        assert_eq!(health.model(), "CPU, AVX-512 · MiniLM");
        let failed = ModelState::Failed { model: "MiniLM".into(), reason: "no weights".into() };
        health.apply(&EngineEvent::Model(failed));
        assert_eq!(health.failure(), Some("no weights"));
    }

    #[test]
    fn an_index_with_files_waiting_is_not_called_up_to_date() {
        let mut health = Health::default();
        assert_eq!(health.standing(), None);
        health.documents = 1;
        assert_eq!(health.standing().unwrap(), "Up to date");
        health.waiting = Some(1_204);
        assert_eq!(health.standing().unwrap(), "1,204 files waiting");
        health.waiting = Some(0);
        assert_eq!(health.standing().unwrap(), "Waiting");
    }

    #[test]
    fn amounts_follow_the_index() {
        let mut health = Health::default();
        health.apply(&EngineEvent::IndexChanged { documents: 1, passages: 1_204 });
        assert_eq!(health.amounts(), "1 document · 1,204 passages");
    }
}
