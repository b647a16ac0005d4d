"""Conversations waiting for the clinic: counted, longest wait first, with a note on what the list covers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import perf_counter

import pytest
from msgspec.structs import replace

from portal.services import decoding
from portal.services.conversations import Conversation, Message, MessageSide
from portal.services.rules.danger_signs import danger_words, excerpt
from portal.views import waiting_conversations
from portal.views.waiting_conversations import WaitingConversation, _in_order, waiting_since
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor

START = datetime(2026, 11, 20, 9, tzinfo=UTC)
IN, OUT = MessageSide.INBOUND, MessageSide.OUTBOUND


def talk(
    *sides: MessageSide | None, id_: str = "c", archived: bool = False, late: int = 0, says: str = ""
) -> Conversation:
    messages = [
        Message(
            id=f"{id_}-{n}",
            side=side,
            body=says or f"{id_} says {n}",
            sent_at=START + timedelta(hours=n + late),
        )
        for n, side in enumerate(sides)
    ]
    return Conversation(
        id=id_, subject=f"About {id_}", is_archived=archived, messages=tuple(reversed(messages))
    )


@pytest.mark.parametrize(
    ("conversation", "hours"),
    [
        (talk(IN), 0),
        (talk(IN, OUT), None),
        (talk(IN, OUT, IN, IN), 2),
        (talk(OUT, IN, None), 1),
        (talk(OUT), None),
        (talk(None), None),
        (talk(), None),
        (talk(IN, archived=True), None),
    ],
)
def test_a_conversation_waits_since_the_first_message_without_an_answer(
    conversation: Conversation, hours: int | None
) -> None:
    assert waiting_since(conversation) == (None if hours is None else START + timedelta(hours=hours))


def given(monkeypatch: pytest.MonkeyPatch, *talks: Conversation, total: int | None = None) -> None:
    def listed(_care: object, limit: int) -> tuple[decoding.PagedResult[Conversation], bool]:
        assert limit == waiting_conversations.MOST
        return decoding.PagedResult(items=talks, total_count=len(talks) if total is None else total), True

    monkeypatch.setattr(waiting_conversations, "list_newest", listed)


def test_the_longest_waiting_conversation_comes_first_with_its_last_message(
    nora: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, talk(IN, id_="new", late=5), talk(IN, OUT, id_="done"), talk(OUT, IN, IN, id_="old"))
    page = nora.get("/conversations")
    assert [row.text_content() for row in page.select(".link-title bdi")] == ["About old", "About new"]
    assert "Waiting for an answer, the longest first: 2" in page.words
    assert "old says 1" in page.words, "the message that waits longest"
    assert page.tree.select_one("[aria-current]:contains('Waiting for us (2)')")


def test_words_of_danger_lift_a_conversation_and_are_marked(
    nora: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(
        monkeypatch,
        talk(IN, id_="calm"),
        talk(IN, id_="grave", late=9, says="Since last night I am bleeding <b>a lot</b> and feel faint."),
        talk(IN, OUT, id_="answered", says="The pain is gone."),
    )
    for address in ("/", "/conversations"):
        page = nora.get(address)
        names = [row.text_content() for row in page.select("#messages .link-row, #inbox .link-row")]
        assert "bleeding, faint" in names[0], address
        assert [mark.text_content() for mark in page.select("mark")] == ["bleeding", "faint"], address


def test_home_and_messages_tell_the_same_of_what_waits_for_an_answer(
    nora: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for total, count in ((2, "2"), (900, "at least 2")):
        given(monkeypatch, talk(IN, id_="one"), talk(IN, id_="two", late=3), total=total)
        home, inbox = nora.get("/"), nora.get("/conversations")
        listed = [
            [str(row["href"]) for row in page.select(".link-row[href^='/conversations/']")]
            for page in (home, inbox)
        ]
        assert listed[0] == listed[1] == ["/conversations/one", "/conversations/two"]
        assert home.select("main h2")[0].words == f"Waiting for an answer {count}"
        assert f"Waiting for us ({count})" in inbox.words
    given(monkeypatch, total=900)
    assert "Every conversation has been answered." not in nora.get("/").words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("When is my blood test? I feel well.", ()),
        ("I am passing blood clots", ("blood", "clots")),
        ("Tengo fiebre y mucho DOLOR", ("fiebre", "DOLOR")),
        ("عندي نزيف وألم شديد", ("نزيف", "وألم")),
        ("نراجع المستشفى المرة القادمة", ()),
        ("short of breath", ("breath",)),
    ],
)
def test_words_of_danger_are_found_in_each_language(text: str, words: tuple[str, ...]) -> None:
    assert danger_words(text) == words


@pytest.mark.parametrize(
    "text",
    [
        *(
            "أنا أنزف بشدة",
            "بطني يؤلمني",
            "بطني توجعني",
            "لا أستطيع أن أتنفس",
            "تقيأت",
            "أغمي علي",
            "فقدت الوعي",
        ),
        *("حرارتي 39", "عندي سخونة", "أتألم", "عندي الم شديد", "أستفرغ", "أخذت جرعة مضاعفة", "لم آخذ الإبرة"),
        *("أريد أن أموت", "أفكر في الانتحار", "صداع لا يزول"),
        *("I took the wrong dose", "I took a double dose", "I did not take my trigger", "I haven't taken it"),
        *("I have not peed", "nauseous", "headache", "blurred vision", "i want to die", "I passed out"),
        *("quiero morir", "no me puse la inyección", "No tomé la pastilla", "veo borroso", "una dosis doble"),
        *(
            "I bled a lot this morning",
            "heavy spotting since 4am",
            "my chest feels tight",
            "I threw up again",
        ),
        *(
            "I think I am having a miscarriage",
            "my temp is 38.9",
            "she had a seizure",
            "I skipped my injection",
        ),
        *("I injected it twice by mistake", "I took the trigger two hours too early", "I used the wrong pen"),
        *("me dolía mucho el vientre", "me dolió toda la noche", "he manchado esta mañana", "tengo pérdidas"),
        *("siento opresión en el pecho", "no me he puesto la inyección", "todavía no he tomado la pastilla"),
        *(
            "me salté la inyección de ayer",
            "me pinché dos veces",
            "me puse el doble",
            "me equivoqué de dosis",
        ),
        *("me pinché dos horas tarde", "he tenido un aborto", "ayer me mareé"),
        *(
            "آلمني بطني طوال الليل",
            "نزفت كثيرا أمس",
            "أشعر بضغط في الصدر",
            "لم أحقن الإبرة أمس",
            "حدث لي إجهاض",
        ),
        *(
            "I haven't had my injection",
            "I didn't do the trigger shot",
            "I've not taken it",
            "I took an extra dose",
        ),
        *(
            "I injected 300 instead of 150",
            "stomachache since 4am",
            "I don't want to live anymore",
            "my arm is numb",
        ),
        *(
            "se me pasó la inyección",
            "tengo una reacción alérgica",
            "una sobredosis",
            "palpitaciones",
            "aborté ayer",
        ),
        *(
            "me he pinchado una hora tarde",
            "me falta el aire",
            "quiero quitarme la vida",
            "me confundí de dosis",
        ),
        *(
            "أخذت جرعتين",
            "أخذت الإبرة متأخرة",
            "بطني منتفخة",
            "رجلي متورمة",
            "أشعر باختناق",
            "طفح جلدي",
            "سأنتحر",
        ),
        *("فاتتني الجرعة", "أخطأت في الجرعة", "أخذت الإبرة مرتين", "ما أخذت الدواء", "استفرغت مرتين"),
    ],
)
def test_what_patients_say_of_themselves_is_found(text: str) -> None:
    assert danger_words(text)


@pytest.mark.parametrize(
    "words",
    [
        "bleeding, contractions, palpitations, convulsions, swelling, haemorrhage, painful, hurts, aching, migraine, agony",
        "itching, hives, diarrhoea, cramps, sore, fever, temperature, shivering, vomiting, sickness, fainted, dizzy, blackout",
        "collapsed, unconscious, swollen, bloated, urine, rash, allergic, ectopic, OHSS, heart racing, waters broke, missed",
        "forgot, never took, overdose, double dose, two doses, too much of, emergency, ambulance, suicidal, kill myself",
        "end my life, want to die, do not want to live",
        "sangrado, desangro, hemorragia, coágulos, duele, calambres, cólico, respirar, ahogo, escalofríos, vómitos, náuseas",
        "diarrea, desmayo, hinchada, inflamado, taquicardia, hiperestimulación, ectópico, orina, sarpullido, ronchas, picor",
        "olvidé, pérdida de líquido, contracciones, convulsiones, temperatura, tomé dos horas antes, tomé tres de más",
        "dosis equivocada, doble dosis, dosis doble, urgencias, ambulancia, matarme, quitarme la vida, no quiero vivir",
        "آلام, دم, موجوع, مغص, ضيق, حمى, قشعريرة, قيء, غثيان, إغماء, دوخة, دايخ, دوار, مشوش, تشوش, زغللة, وارم, تورم, انتفاخ",
        "بول, حساسية, حكة, إسهال, نسيت, لم آخذ, صدري, خفقان, أجهضت, تشنج, تقلصات, تأخرت في الجرعة, دواء خطأ, طوارئ, إسعاف",
        "لا أريد العيش",
    ],
)
def test_each_word_of_danger_is_found(words: str) -> None:
    assert [danger_words(word) for word in words.split(", ")] == [(word,) for word in words.split(", ")]


@pytest.mark.parametrize(
    "text",
    [
        "May I paint my nails, and take the train? I have not decided. What dose do I take, and when?",
        "Is the television in the waiting room for us? My sister did a double take. We peer at the plan.",
        "¿Puedo tomar café? No puedo ir el lunes, tomé el tren. ¿Cuál es la dosis?",
        "أهلا وعيادة جميلة وعيني بخير، متى الموعد القادم؟ أخذت الجرعة في وقتها. شكرا لكم على المساعدة",
        "I took the test twice. Is it too late to book? I take it twice a day, and skipped breakfast as you said.",
        "I came on the wrong day, sorry. My sister did IVF twice. I will be two hours late on Friday.",
        "Todavía no he tomado una decisión. Me equivoqué de día. Voy dos veces por semana, desde Manchester.",
        "¿Puedo dar el pecho? No me he puesto en contacto antes. ¿La tomo dos veces al día, por la tarde?",
        "صدرت النتيجة أمس، وفاتني الموعد. آخذ الدواء مرتين في اليوم، وزرت العيادة مرتين",
        "I missed your call. I forgot my password. I have not had the letter, nor done the form.",
        "¿A qué hora es el análisis de sangre? Se me olvidó la contraseña. Me confundí de día. Tomo café de día.",
        "متى تحليل الدم؟ أنا من دمشق ونسيت كلمة المرور، وضيق الوقت. أخذت الموعد",
        "هل يمكنني تغيير الموعد؟ المركز قريب من المنزل، وسأحضر مع زوجي في الأسبوع المقبل",
    ],
)
def test_ordinary_questions_are_not_taken_for_danger(text: str) -> None:
    assert danger_words(text) == ()


@pytest.mark.parametrize(("sides", "words"), [((IN,), ("bleeding",)), ((IN, OUT, IN), ()), ((OUT, IN), ())])
def test_the_subject_of_a_first_message_is_looked_through_too(
    sides: tuple[MessageSide, ...], words: tuple[str, ...]
) -> None:
    (waiting,) = _in_order((replace(talk(*sides, says="Please call me"), subject="Heavy bleeding"),))
    assert waiting.danger == words


@pytest.mark.parametrize("quoted", [8_000, 60_000])
def test_a_long_message_hides_no_word_of_danger(quoted: int) -> None:
    long = Message(id="a", side=IN, body="> As you wrote. " * (quoted // 16), sent_at=START)
    grave = replace(long, id="b", body="I am bleeding heavily", sent_at=START + timedelta(hours=1))
    both = replace(long, body=f"{long.body}\n{grave.body}")
    for messages in ((long, grave), (both,)):
        (waiting,) = _in_order((replace(talk(), messages=messages),))
        assert waiting.danger == ("bleeding",)
        assert "<mark>bleeding</mark>" in waiting.excerpt
        assert waiting.excerpt.startswith("2 messages · ") is (len(messages) == 2)


def test_marking_takes_linear_time_and_keeps_what_was_written() -> None:
    shown = WaitingConversation(talk(IN), talk(IN, says="Fever > 38 & pain").messages, ()).excerpt
    assert shown == "<mark>Fever</mark> &gt; 38 &amp; <mark>pain</mark>"
    long = "no word " * 100 + "then fever"
    assert ("fever", True) in excerpt(long)
    began = perf_counter()
    for hostile in ("pain " * 100_000, "ال" * 100_000, "وفبكل" * 100_000, "a" * 500_000):
        danger_words(hostile)
        excerpt(hostile)
    assert perf_counter() - began < 1


def test_the_waiting_list_states_what_it_covers(nora: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, talk(IN), total=900)
    assert "Looked through: the newest 1." in nora.get("/conversations").words
    given(monkeypatch, talk(IN, OUT), total=900)
    assert "The newest conversation has been answered." in nora.get("/conversations").words
    assert "Waiting for us (" not in nora.get("/conversations").words, "at least 0 says nothing"
    mine = "none of yours waits for an answer"
    assert f"Among the newest conversations {mine}" in nora.get("/conversations?mine=1").words
    given(monkeypatch)
    assert "Every conversation has been answered." in nora.get("/conversations").words
    assert "None of your conversations waits" in nora.get("/conversations?mine=1").words


def test_the_count_matches_the_list_and_all_conversations_are_one_click_away(nora: Visitor) -> None:
    page = nora.get("/conversations")
    shown = len(page.select(".link-row"))
    assert page.link(f"Waiting for us ({shown})") == "/conversations"
    everything = page.follow("All")
    assert len(everything.select(".link-row")) > shown
    found = everything.form("/conversations").submit(q="scan")
    assert "found for “scan”" in found.words


def test_patients_have_the_inbox_without_waiting_lists(portal: PortalThread) -> None:
    assert "Waiting for us" not in portal.sign_in("amelia").get("/conversations").words
