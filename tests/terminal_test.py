"""Plain lines of the log, and progress in one line."""

import io
import logging as python_logging
import os
import re

from absl import logging
import pytest

from clwe_jax import terminal


@pytest.fixture(autouse=True)
def absl():
    logging.use_absl_handler()
    logging.set_verbosity(logging.INFO)


class Screen(io.StringIO):
    """A terminal of 80 columns: the lines that are seen at the end."""

    def isatty(self):
        return True

    def seen(self) -> list[str]:
        lines = [""]
        for piece in re.split(r"(\r\x1b\[2K|\n)", self.getvalue()):
            if piece == "\n":
                lines.append("")
            elif piece == "\r\x1b[2K":
                lines[-1] = ""
            else:
                lines[-1] += piece
        return lines


@pytest.fixture
def screen(monkeypatch):
    made = Screen()
    monkeypatch.setattr(terminal, "_stream", lambda: made)
    handler = logging.get_absl_handler().python_handler
    before = handler.stream
    handler.stream = made
    yield made
    assert handler.stream is made, "the log has its stream back"
    handler.stream = before


def record(level, message, *args):
    return python_logging.LogRecord("absl", level, "file.py", 7, message, args, None)


def test_log_lines_are_plain():
    handler = logging.get_absl_handler().python_handler
    before = handler.formatter
    try:
        terminal.plain_log()
        assert handler.format(record(python_logging.INFO, "one of %d", 2)) == "one of 2"
        assert handler.format(record(python_logging.WARNING, "too few")) == "warning: too few"
    finally:
        handler.setFormatter(before)


def emit(text):
    """Logs a line by absl's handler, whichever handlers pytest adds."""
    handler = logging.get_absl_handler().python_handler
    handler.stream.write(text + "\n")


def test_a_line_changes_in_place_below_the_log(screen):
    line = terminal.ProgressLine()
    line.show("step 1/9", "loss 3")
    emit("a line of the log [red] as it is")
    line.show("step 2/9", "loss 2")
    assert screen.seen() == ["a line of the log [red] as it is", "step 2/9  loss 2"]
    line.close(keep=True)
    emit("the end")
    assert screen.seen() == ["a line of the log [red] as it is", "step 2/9  loss 2", "the end", ""]


def test_a_line_fits_80_columns(screen):
    line = terminal.ProgressLine()
    line.show("step 100000/500000", *(f"metric {n} 1.2345" for n in range(9)))
    assert screen.seen() == [
        "step 100000/500000  metric 0 1.2345  metric 1 1.2345  metric 2 1.2345"
    ]
    line.show("x" * 200)
    assert screen.seen() == ["x" * 79]
    line.close()
    assert screen.seen() == [""]


def test_frequent_changes_are_drawn_ten_times_a_second(screen, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    line = terminal.ProgressLine()
    now[0] = 1.0
    for step in range(1000):
        now[0] += 0.001
        line.show(f"step {step}", "loss 1")
    line.close()
    assert 9 <= screen.getvalue().count("step") <= 12


def test_the_task_that_began_last_is_shown(screen, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    line = terminal.ProgressLine()
    line.show("step 5/9")
    with terminal.stage("evaluating bli"):
        assert screen.seen()[-1] == "evaluating bli"
        with terminal.task("texts", 5_000) as advance:
            now[0] = 2.0
            advance(1_000)
            assert screen.seen()[-1] == "evaluating bli: 1,000/5,000 texts  500 texts/s  0:08 left"
            line.show("step 6/9")  # below the shown line
            assert "step" not in screen.seen()[-1]
        assert screen.seen()[-1] == "evaluating bli"
    assert screen.seen()[-1] == "step 6/9"
    line.close()


def test_a_log_gets_a_line_of_a_slow_task_once_in_a_while(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    with terminal.stage("evaluating bli"), terminal.task("texts", 100) as advance:
        for second in range(25):
            now[0] = float(second)
            advance(2)
    assert caplog.messages == [
        "evaluating bli",
        "evaluating bli: 24/100 texts  2.2 texts/s  0:35 left",
        "evaluating bli: 46/100 texts  2.1 texts/s  0:26 left",
    ]


def test_a_stage_that_fails_leaves_the_terminal_as_it_was(screen):
    with pytest.raises(KeyError), terminal.stage("a"), terminal.task("texts", 3):
        raise KeyError
    assert screen.seen()[-1] == "" and not terminal._open and not terminal._stages


@pytest.mark.parametrize(
    "seconds, text", [(5, "0:05"), (125.4, "2:05"), (3_725, "1:02:05"), (float("inf"), "?")]
)
def test_duration(seconds, text):
    assert terminal.duration(seconds) == text


@pytest.mark.parametrize("number, text", [(12_345, "12.3k"), (640.2, "640"), (0.254, "0.25")])
def test_thousands(number, text):
    assert terminal.thousands(number) == text


def test_silence_hides_what_libraries_write_to_stderr(capfd):
    with terminal.silent():
        os.write(2, b"a library written in C")
    os.write(2, b"seen")
    assert capfd.readouterr().err == "seen"


def test_a_failure_in_silence_shows_what_was_hidden(capfd):
    with pytest.raises(ImportError), terminal.silent():
        os.write(2, b"symbol not found")
        raise ImportError
    assert capfd.readouterr().err == "symbol not found"


def test_tensorflow_is_silent(run_python):
    code = (
        "import os; os.environ.pop('TF_CPP_MIN_LOG_LEVEL', None); "
        "from clwe_jax.data.graph import piece_ids; piece_ids.tf.constant(1) + 1"
    )
    done = run_python("-c", code)
    assert done.stdout + done.stderr == ""


def test_libraries_log_their_warnings_alone():
    loggers = [python_logging.getLogger(name) for name in ("jax", "gensim")]
    levels = [logger.level for logger in loggers]
    try:
        terminal.plain_log()
        assert [logger.level for logger in loggers] == [python_logging.WARNING] * 2
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)


@pytest.mark.parametrize("level", [python_logging.INFO, python_logging.DEBUG])
def test_only_grave_messages_are_logged_and_the_level_is_as_before(caplog, level):
    logger = logging.get_absl_logger()
    logging.set_verbosity(logging.WARNING)
    with caplog.at_level(level), caplog.at_level(level, logger=logger.name):
        logger.addHandler(caplog.handler)
        with terminal.log_only(logging.ERROR):
            logging.warning("hidden")
            logging.error("shown")
        logging.info("after")
        logger.removeHandler(caplog.handler)
        assert logger.level == level
    assert "hidden" not in caplog.text
    assert "shown" in caplog.text and "after" in caplog.text
