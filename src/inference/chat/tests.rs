use super::*;

fn template(source: &str) -> ChatTemplate {
    ChatTemplate::parse(source.to_owned(), "<s>", "</s>").unwrap()
}

fn message(role: Role, content: &str) -> ChatMessage {
    ChatMessage { role, content: content.to_owned() }
}

#[test]
fn a_template_sees_messages_tokens_and_the_wish_for_an_answer() {
    let source = "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}] {{ m.content.strip() }}\
                  {{ eos_token }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
    let conversation = [message(Role::System, " Be brief. "), message(Role::User, "{{ 1 + 1 }}?")];
    assert_eq!(
        template(source).render(&conversation).unwrap(),
        "<s>[system] Be brief.</s>[user] {{ 1 + 1 }}?</s>[assistant]"
    );
}

/// The blocks of a template that is laid out for people leave no white space behind.
#[test]
fn blocks_are_trimmed_as_transformers_does() {
    let source = "{% for m in messages %}\n    {% if m.role == 'user' %}\n{{ m.content }}\n    \
                  {%- endif %}\n{% endfor %}\n";
    assert_eq!(template(source).render(&[ChatMessage::user("Hi")]).unwrap(), "Hi");
}

#[test]
fn a_refusal_is_told_in_the_words_of_the_template() {
    let source = "{{ raise_exception('roles must alternate') }}";
    let error = template(source).render(&[ChatMessage::user("Hi")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model's chat template refuses this conversation: roles must alternate"
    );
}

#[test]
fn what_a_template_asks_for_and_is_not_there_is_named() {
    let error = template("\n{{ strftime_now('%Y') }}").render(&[]).unwrap_err().to_string();
    assert!(error.contains("strftime_now") && error.contains("line 2"), "{error}");
    let asked = template("{{ 'a' if strftime_now is defined else 'b' }}").render(&[]).unwrap();
    assert_eq!(asked, "b");
    let broken = ChatTemplate::parse("{% for %}".to_owned(), "", "").unwrap_err().to_string();
    assert!(broken.contains("cannot be used"), "{broken}");
}

#[test]
fn a_template_that_does_not_end_is_stopped() {
    let source = "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}";
    assert!(matches!(template(source).render(&[]), Err(ChatError::Template { .. })));
}
