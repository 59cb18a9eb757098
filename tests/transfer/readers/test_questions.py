"""SQuAD's JSON: answers at their place, several, none, withheld, and files that are something else."""

from __future__ import annotations

import json
import lzma

import pytest

from isoglot.errors import FormatError, InputError
from isoglot.transfer import Question, read_questions

CONTEXT = "Ada 🙂 sleeps in Paris."


def asked(answers, **rest):
    return {"id": "q1", "question": "Where?", "answers": answers, **rest}


def squad(*questions, context=CONTEXT):
    return {"version": "1.1", "data": [{"title": "Ada", "paragraphs": [{"context": context, "qas": list(questions)}]}]}


def answer(text, start):
    return {"text": text, "answer_start": start}


def write(tmp_path, content, name="x.json"):
    data = content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode("utf-8")
    path = tmp_path / name
    path.write_bytes(lzma.compress(data) if name.endswith(".xz") else data)
    return path


@pytest.mark.parametrize("name", ["x.json", "x.json.xz"])
def test_questions_with_one_answer_several_and_none(tmp_path, name):
    several = asked([answer("Paris", 16), answer("in Paris", 13)])
    content = squad(several, asked([answer("", 0)]), asked([], is_impossible=True), {"id": 4, "question": "Who?"})
    assert read_questions(write(tmp_path, content, name)) == [
        Question("q1", "Where?", CONTEXT, ("Paris", "in Paris"), (16, 13)),
        Question("q1", "Where?", CONTEXT),
        Question("q1", "Where?", CONTEXT),
        Question("4", "Who?", CONTEXT),
    ]


def test_a_mark_before_the_json_is_dropped(tmp_path):
    content = b"\xef\xbb\xbf" + json.dumps(squad(asked([answer("Ada", 0)]))).encode()
    assert read_questions(write(tmp_path, content))[0].answers == ("Ada",)


def test_withheld_answers_are_an_error(tmp_path):
    with pytest.raises(FormatError, match=r"none of its 2 questions has an answer; .*leaderboards"):
        read_questions(write(tmp_path, squad(asked([answer("", 0)]), asked([]))))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            # Counted in bytes, as the picture takes four.
            squad(asked([answer("Ada", 0)]), asked([answer("Paris", 19)])),
            r"x\.json: data\[0\]\.paragraphs\[0\]\.qas\[1\]: question 'q1': the answer 'Paris' is not at character 19 "
            r"of the context; starts are counted in characters",
        ),
        (squad(asked([answer("Paris", -1)])), r"answers\[0\]: \"answer_start\" is -1, out of range"),
        (squad(asked([{"text": "Paris"}])), r'qas\[0\]\.answers\[0\]: "answer_start" is missing'),
        (squad(asked(["Paris"])), r"answers\[0\]: not a JSON object"),
        (squad({"id": "1", "answers": []}), r'qas\[0\]: "question" is missing'),
        (squad(asked([]), context=7), r'paragraphs\[0\]: "context" is not a string'),
        ({"data": []}, "holds no questions"),
        ({"rows": []}, r'x\.json: "data" is missing; expected the JSON of SQuAD'),
        ([1], r"x\.json: not a JSON object"),
        (b'{"data": [\n  {"paragraphs" }\n]}', r"x\.json: not JSON: .*line 2 column 17"),
        (b'{"data": "\xff"}', "x.json"),
        (b" \n", "the file is empty"),
        (b"", "empty"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read_questions(write(tmp_path, content))


def test_questions_check_their_answers():
    with pytest.raises(InputError, match="2 answers but 1 starts"):
        Question("1", "?", "abc", ("a", "b"), (0,))
    with pytest.raises(InputError, match="not one string"):
        Question("1", "?", "abc", "a", (0,))
