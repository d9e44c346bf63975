use std::sync::atomic::AtomicUsize;

use super::super::fake::{self, KILLS, Steps, encoder_id};
use super::super::{Priority, SchedulerOptions, SerialScheduler};
use super::*;

/// A scheduler with a fake encoder, and how often one was started.
async fn restarting() -> (RestartingScheduler, Arc<AtomicUsize>) {
    let started = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&started);
    let start = move || -> Result<Arc<dyn GpuScheduler>, GpuError> {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(SerialScheduler::start(&SchedulerOptions::default())?))
    };
    let scheduler = RestartingScheduler::start(Box::new(start)).unwrap();
    let (steps, _) = Steps::new();
    steps.gate.open();
    scheduler.load_model(encoder_id(), fake::encoder(&steps)).await.unwrap();
    (scheduler, started)
}

fn request(token: u32) -> EmbedRequest {
    EmbedRequest { model_id: encoder_id(), tokens: vec![token], priority: Priority::Immediate }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a13_a_dead_device_thread_is_restarted_with_its_models() {
    let (scheduler, started) = restarting().await;
    for deaths in 1..=5 {
        let culprit = scheduler.embed(request(KILLS)).await;
        assert!(matches!(culprit, Err(GpuError::Died(_))), "it is not tried again");
        scheduler.embed(request(5)).await.unwrap();
        assert_eq!(started.load(Ordering::Relaxed), 1 + deaths);
    }
    assert!(scheduler.is_ready() && scheduler.is_model_loaded(&encoder_id()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a13_a_device_that_only_dies_is_left_alone() {
    let (scheduler, started) = restarting().await;
    let mut errors = Vec::new();
    for _ in 0..10 {
        errors.push(scheduler.embed(request(KILLS)).await.unwrap_err());
    }
    let restarts = RestartingScheduler::IN_VAIN_MAX as usize;
    assert_eq!(started.load(Ordering::Relaxed), 1 + restarts);
    assert!(matches!(errors[restarts], GpuError::Died(_)));
    assert!(matches!(errors[restarts + 1], GpuError::Stopped), "{errors:?}");
    assert!(matches!(scheduler.embed(request(5)).await, Err(GpuError::Stopped)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a13_who_waits_when_the_thread_dies_notices_nothing() {
    let (scheduler, started) = restarting().await;
    let scheduler = Arc::new(scheduler);
    let mut waiting = Vec::new();
    for token in [KILLS, 5, 6, KILLS, 7, 8] {
        let scheduler = Arc::clone(&scheduler);
        // Queries never share a step with files, so each culprit dies alone.
        let priority = if token == KILLS { Priority::Immediate } else { Priority::Background };
        let request = EmbedRequest { priority, ..request(token) };
        waiting.push((token, tokio::spawn(async move { scheduler.embed(request).await })));
    }
    for (token, request) in waiting {
        let answer = request.await.unwrap();
        match token {
            KILLS => assert!(matches!(answer, Err(GpuError::Died(_))), "{answer:?}"),
            _ => drop(answer.unwrap()),
        }
    }
    assert!(started.load(Ordering::Relaxed) >= 2);
}
