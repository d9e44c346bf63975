use super::*;
use crate::ui::fixture::response;

fn answered(names: &[&str]) -> SearchState {
    let mut search = SearchState::default();
    let sequence = search.ask("owner".to_owned()).unwrap();
    assert_eq!(search.accept(sequence, Ok(response(names))), Accepted::Shown);
    search
}

#[test]
fn stale_answers_are_dropped() {
    let mut search = SearchState::default();
    let first = search.ask("own".to_owned()).unwrap();
    let second = search.ask("owner".to_owned()).unwrap();
    assert!(search.request(first, 8).is_none(), "a question that was overtaken is not sent");
    assert_eq!(search.request(second, 8).unwrap().query, "owner");
    assert_eq!(search.accept(first, Ok(response(&["old.md"]))), Accepted::Stale);
    assert!(search.hits().is_empty());
    assert_eq!(search.accept(second, Ok(response(&["new.md"]))), Accepted::Shown);
    assert_eq!(search.accept(first, Err("late".to_owned())), Accepted::Stale);
    assert_eq!(search.problem(), None);
    assert_eq!(search.hits()[0].document.title, "new.md");
}

#[test]
fn clearing_the_query_drops_the_answer_and_what_is_on_its_way() {
    let mut search = answered(&["a.md"]);
    let on_its_way = search.ask("owners".to_owned()).unwrap();
    assert_eq!(search.ask("  ".to_owned()), None);
    assert!(search.hits().is_empty() && !search.is_overtaken());
    assert_eq!(search.accept(on_its_way, Ok(response(&["a.md"]))), Accepted::Stale);
}

#[test]
fn the_start_page_stays_until_the_first_answer_or_until_that_is_late() {
    let mut search = SearchState::default();
    assert!(search.is_home());
    let typed = |search: &mut SearchState| {
        search.ask("o".to_owned()).unwrap();
        let sequence = search.ask("ow".to_owned()).unwrap();
        assert!(search.is_home());
        sequence
    };
    let asked = typed(&mut search);
    search.accept(asked, Ok(response(&["a.md"])));
    assert!(!search.is_home());
    search.ask("own".to_owned());
    assert!(!search.is_home(), "the answer before stays");
    search.ask(String::new());
    let asked = typed(&mut search);
    search.grow_late(asked);
    assert!(!search.is_home());
    assert!(!SearchState::restored("own".to_owned()).is_home());
}

#[test]
fn white_space_at_the_ends_asks_nothing_new() {
    let mut search = answered(&["a.md"]);
    assert_eq!(search.ask("owner ".to_owned()), None);
    assert_eq!(search.query(), "owner ");
}

#[test]
fn the_selection_stops_at_both_ends() {
    let mut search = answered(&["a.md", "b.md", "c.md"]);
    search.move_selection(-1);
    assert_eq!(search.selected(), 0);
    search.move_selection(2);
    search.move_selection(5);
    assert_eq!(search.selected(), 2);
    search.select(9);
    assert_eq!(search.selected(), 2);
    let mut empty = SearchState::default();
    empty.move_selection(1);
    assert_eq!(empty.selected_hit(), None);
}

#[test]
fn a_refinement_keeps_the_chosen_document_and_a_new_query_starts_at_the_top() {
    let mut search = answered(&["a.md", "b.md", "c.md"]);
    search.select(1);
    let refined = search.again().unwrap();
    let better = response(&["c.md", "a.md", "b.md"]);
    assert_eq!(search.accept(refined, Ok(better)), Accepted::Held);
    search.take_held();
    assert_eq!(search.selected_hit().unwrap().document.title, "b.md");
    let other = search.ask("threads".to_owned()).unwrap();
    search.accept(other, Ok(response(&["a.md", "b.md"])));
    assert_eq!(search.selected(), 0);
}

#[test]
fn a_new_question_asks_for_what_is_in_sight_and_for_the_rest_when_its_answer_stands() {
    let names: Vec<String> = (0..12).map(|at| format!("{at}.md")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let limit = |search: &SearchState, sequence| search.request(sequence, 8).unwrap().limit;
    let short = || SearchResponse { is_cut: true, took_ms: 1.0, ..response(&names[..8]) };
    let whole = || SearchResponse { took_ms: 9.0, ..response(&names) };

    let mut search = SearchState::default();
    let first = search.ask("own".to_owned()).unwrap();
    assert_eq!(limit(&search, first), 8);
    assert_eq!(search.rest(first), None, "there is no answer yet");
    search.accept(first, Ok(short()));
    assert_eq!(search.rest(first).unwrap().limit, HITS_MAX);
    search.complete(first, whole());
    assert_eq!(search.hits().len(), 12);
    assert!(search.answer().unwrap().took_ms < 2.0, "the wait was for the beginning");
    assert_eq!(search.rest(first), None);

    let second = search.ask("owner".to_owned()).unwrap();
    search.accept(second, Ok(short()));
    assert_eq!(search.rest(first), None);
    search.complete(first, whole());
    assert_eq!(search.hits().len(), 8, "the rest of an answer to another question");
    search.select(7);
    search.complete(second, whole());
    assert_eq!((search.hits().len(), search.selected()), (12, 7));

    let refined = search.again().unwrap();
    assert_eq!(limit(&search, refined), HITS_MAX, "a refinement takes nothing away");
    search.accept(refined, Ok(SearchResponse { is_cut: true, ..response(&["a.md"; HITS_MAX]) }));
    assert_eq!(search.rest(refined), None, "no more are shown");
}

#[test]
fn cards_of_the_rest_come_in_steps_or_with_the_selection() {
    let names: Vec<String> = (0..20).map(|at| format!("{at}.md")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let cards = |search: &SearchState| (search.cards(), search.is_filling());
    let mut search = SearchState::default();
    assert_eq!(cards(&search), (0, false));
    let asked = search.ask("own".to_owned()).unwrap();
    search.accept(asked, Ok(SearchResponse { is_cut: true, ..response(&names[..8]) }));
    assert_eq!(cards(&search), (8, false));
    search.complete(asked, response(&names));
    assert_eq!(cards(&search), (8, true));
    search.fill();
    assert_eq!(cards(&search), (14, true));
    search.move_to_edge(false);
    assert_eq!(search.cards(), 20, "what is selected can be seen");
    search.fill();
    assert_eq!(cards(&search), (20, false));
    let again = search.again().unwrap();
    search.accept(again, Ok(response(&names)));
    assert_eq!(cards(&search), (20, false), "a refinement takes nothing away");
    let other = search.ask("owner".to_owned()).unwrap();
    search.accept(other, Ok(response(&names[..3])));
    assert_eq!(cards(&search), (3, false));
}

#[test]
fn the_rest_of_an_answer_moves_nothing_that_is_looked_at() {
    let mut search = SearchState::default();
    let asked = search.ask("own".to_owned()).unwrap();
    search.accept(asked, Ok(SearchResponse { is_cut: true, ..response(&["a.md", "b.md"]) }));
    search.pointed = true;
    search.complete(asked, response(&["b.md", "a.md", "c.md"]));
    assert!(search.has_held() && search.hits()[0].document.title == "a.md");
}

/// A key that changes nothing of it leaves the page alone.
#[test]
fn the_outline_changes_with_what_shows_before_the_answer() {
    let mut search = answered(&["a.md"]);
    let outline = |search: &mut SearchState, query: &str| {
        search.ask(query.to_owned());
        search.outline()
    };
    let words = outline(&mut search, "owner of");
    assert_eq!(outline(&mut search, "owner of a lock"), words);
    search.toggle_places(search.hits()[0].document.id);
    assert_ne!(search.outline(), words);
    assert_eq!(outline(&mut search, "owner of a key"), words);
    search.why = true;
    assert_ne!(search.outline(), words);
    let others =
        ["", "owner type:pdf", "owner type:md", "https://doc.rust-lang.org", "https://docs.rs"];
    let outlines = others.map(|query| outline(&mut search, query));
    for (at, one) in outlines.iter().enumerate() {
        assert!(*one != words && !outlines[..at].contains(one), "{}", others[at]);
    }
}

#[test]
fn an_answer_to_an_older_question_steps_back_when_the_next_is_late() {
    let mut search = answered(&["a.md"]);
    let next = search.ask("owners".to_owned()).unwrap();
    assert!(!search.steps_back());
    search.grow_late(next);
    assert!(search.steps_back());
    search.accept(next, Ok(response(&["b.md"])));
    assert!(!search.steps_back());
    let refined = search.again().unwrap();
    search.grow_late(refined);
    assert!(!search.steps_back(), "it is to this question");
    let other = search.ask("threads".to_owned()).unwrap();
    search.grow_late(refined);
    assert!(!search.steps_back(), "another question is late");
    search.grow_late(other);
    assert!(search.steps_back());
}

#[test]
fn an_untouched_selection_stays_at_the_best_hit() {
    let mut search = answered(&["a.md", "b.md"]);
    let refined = search.again().unwrap();
    search.accept(refined, Ok(response(&["b.md", "a.md"])));
    assert_eq!(search.selected_hit().unwrap().document.title, "b.md");
}

#[test]
fn what_is_looked_at_stays_in_its_place_until_a_person_wants_the_new_order() {
    let titles = |search: &SearchState| {
        search.hits().iter().map(|hit| hit.document.title.clone()).collect::<Vec<_>>()
    };
    let mut search = answered(&["a.md", "b.md"]);
    search.pointed = true;
    let refined = search.again().unwrap();
    assert_eq!(search.accept(refined, Ok(response(&["b.md", "a.md"]))), Accepted::Held);
    assert_eq!((titles(&search), search.has_held()), (vec!["a.md".into(), "b.md".into()], true));
    let longer = search.again().unwrap();
    let answer = response(&["a.md", "b.md", "c.md"]);
    assert_eq!(search.accept(longer, Ok(answer)), Accepted::Shown, "nothing moves");
    assert!(!search.has_held());
    assert!(!search.is_overtaken());
    search.ask("threads".to_owned()).unwrap();
    let asked_again = search.again().unwrap();
    assert!(search.is_overtaken(), "the answer on screen is to another question");
    let other = response(&["c.md", "a.md"]);
    assert_eq!(search.accept(asked_again, Ok(other)), Accepted::Shown, "a new question");
    assert_eq!(titles(&search)[0], "c.md");
}

#[test]
fn the_neighbors_of_a_passage_can_be_narrowed_and_backed_out_of() {
    let mut search = answered(&["a.md"]);
    let passage = search.hits()[0].passage.chunk;
    let like = search.ask_like(passage, "a.md".to_owned()).unwrap();
    let request = search.request(like, 8).unwrap();
    assert_eq!((request.like, request.query.as_str()), (Some(passage), ""));
    let narrowed = search.ask("type:pdf".to_owned()).unwrap();
    assert_eq!(search.request(narrowed, 8).unwrap().like, Some(passage));
    let deeper = response(&["b.md"]).hits[0].passage.chunk;
    search.ask_like(deeper, "b.md".to_owned()).unwrap();
    assert_eq!(search.leave_like().as_deref(), Some("owner"));
    let back = search.start_over().unwrap();
    assert_eq!(search.request(back, 8).unwrap().query, "owner");
    search.ask_like(passage, "a.md".to_owned()).unwrap();
    let words = search.ask("threads".to_owned()).unwrap();
    assert_eq!(search.request(words, 8).unwrap().like, None);
}

#[test]
fn weaker_hits_are_asked_for_and_forgotten_with_the_question() {
    let mut search = answered(&["a.md"]);
    let shown = search.show_weaker(true).unwrap();
    assert_eq!(search.request(shown, 8).unwrap().weaker, WeakerHits::Behind);
    let other = search.ask("threads".to_owned()).unwrap();
    assert_eq!(search.request(other, 8).unwrap().weaker, WeakerHits::LeftOut);
}

#[test]
fn a_keyword_answer_is_refined_once_the_model_is_ready() {
    let mut search = SearchState::default();
    let sequence = search.ask("owner".to_owned()).unwrap();
    let ready = ModelState::Ready { model: "m".into(), device: "CPU".into() };
    let mut answer = response(&["a.md"]);
    answer.mode = SearchMode::Keyword;
    search.accept(sequence, Ok(answer));
    assert!(search.can_refine(&ready));
    assert!(!search.can_refine(&ModelState::Loading { model: "m".into() }));
    assert!(!answered(&["a.md"]).can_refine(&ready));
}
