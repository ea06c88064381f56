"""metrics.jsonl, TensorBoard events and the terminal."""

import json
import struct
import subprocess
import sys

from absl import logging
from clwe_jax.training import metrics


def lines(folder):
    with open(folder / "metrics.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_lines_and_resume(tmp_path):
    """A resumed run keeps what is not after its step, and nothing that was cut short."""
    writer = metrics.MetricWriter(str(tmp_path), 0)
    writer.write(10, {"train/loss": 2.5, "train/none": float("nan")})
    writer.write(20, {"train/loss": 1.5})
    writer.close()
    with open(tmp_path / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.write('{"step": 5, "na')
    writer = metrics.MetricWriter(str(tmp_path), 10)
    writer.write(20, {"train/loss": 1.25})
    writer.close()
    assert lines(tmp_path) == [
        {"step": 10, "name": "train/loss", "value": 2.5},
        {"step": 20, "name": "train/loss", "value": 1.25},
    ]


def test_other_hosts_write_nothing(tmp_path):
    writer = metrics.MetricWriter(str(tmp_path), 0, active=False)
    writer.write(1, {"a": 1.0})
    writer.close()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_survived(tmp_path, monkeypatch, caplog):
    writer = metrics.MetricWriter(str(tmp_path), 0)

    def full(text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "_lines", type("Full", (), {"write": staticmethod(full)})())
    logging.use_absl_handler()
    writer.write(3, {"a": 1.0})
    assert "step 3 " in caplog.text


def test_events_are_read_back(tmp_path):
    """The records are TensorBoard's: length, its checksum, payload, checksum."""
    from tensorboard.compat.proto.event_pb2 import Event

    writer = metrics.MetricWriter(str(tmp_path), 0)
    writer.write(7, {"train/loss": 2.5})
    writer.close()
    (path,) = (tmp_path / "tensorboard").iterdir()
    data, events = path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        events.append(Event.FromString(data[12 : 12 + length]))
        data = data[16 + length :]
    assert events[0].file_version == "brain.Event:2"
    assert events[1].session_log.status == 1 and events[1].step == 1
    (value,) = events[2].summary.value
    assert (events[2].step, value.tag, value.simple_value) == (7, "train/loss", 2.5)


def test_tensorflow_is_not_imported(tmp_path):
    code = (
        "import sys; from clwe_jax.training import metrics; "
        f"w = metrics.MetricWriter({str(tmp_path)!r}, 0); w.write(1, {{'a': 1.0}}); w.close(); "
        "assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


SPEED = {"tokens_per_second": 12_345.0, "steps_per_second": 2.5, "seconds_left": 3_725.0}


def test_plain_lines(caplog):
    logging.set_verbosity(logging.INFO)
    progress = metrics.Progress(0, 100, terminal=False)
    progress.show(50, {"train/loss": 2.5, "train/padding": 0.1}, SPEED)
    progress.close()
    assert "step 50/100  1:02:05 left  loss 2.500  12.3k tokens/s  2.5 steps/s" in caplog.text


def test_a_terminal_of_80_columns_shows_the_time_left_the_loss_and_the_speed(capsys):
    progress = metrics.Progress(10, 100, terminal=True)
    values = {"train/loss": 2.5, "train/accuracy": 0.25, "train/learning_rate": 1e-3}
    progress.show(50_000, values, SPEED)
    progress.close()
    shown = capsys.readouterr().err.rstrip("\n").rpartition("\x1b[2K")[2]
    assert shown == "step 50000/100  1:02:05 left  loss 2.500  12.3k tokens/s  accuracy 0.250"


def test_compiling_is_shown_until_the_first_step(capsys):
    progress = metrics.Progress(10, 100, terminal=True)
    assert capsys.readouterr().err.endswith("step 10/100  compiling")
    progress.advance(11)
    assert capsys.readouterr().err.endswith("step 11/100")
    progress.close()


def test_other_hosts_show_nothing(capsys, caplog):
    progress = metrics.Progress(10, 100, active=False, terminal=True)
    progress.show(50, {"train/loss": 2.5}, SPEED)
    progress.close()
    assert not capsys.readouterr().err and not caplog.messages
