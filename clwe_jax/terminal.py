"""The terminal: plain lines of the log, progress in one line, and the end at a signal.

On a terminal the progress of the task that began last stands in the last line, and the log is
printed above it. Elsewhere the progress of a slow task is a line of the log once in a while.
"""

from __future__ import annotations

import contextlib
import logging as python_logging
import math
import os
import select
import signal
import sys
import tempfile
import time
from typing import IO, Any, Callable, Iterator, Sequence

from absl import flags, logging

_LOG_SECONDS = 10.0  # between two lines of the log about one task
_DRAW_SECONDS = 0.1  # between two changes of a line that shows the same task
_WIDTH = 80  # columns, where the terminal does not say
_ERASE = "\r\x1b[2K"
UNFINISHED = 75  # the exit status of a program that was stopped and goes on later (EX_TEMPFAIL)
_INTERRUPTED = 130  # the exit status of a program that Ctrl-C ended
_AGAIN_SECONDS = 1.0  # after which a signal that a library has dropped is raised again


def plain_log() -> None:
    """Logs messages without the time, the thread and the file; warnings and errors are named."""
    logging.get_absl_handler().setFormatter(_Plain())
    for name in ("jax", "gensim"):  # lines on absent backends, and on each epoch of vectors
        python_logging.getLogger(name).setLevel(python_logging.WARNING)


def command_log(level: int) -> None:
    """`plain_log` for a command that absl does not start, at a level of absl's logging."""
    logging.use_absl_handler()
    flags.FLAGS.mark_as_parsed()  # or the log begins with a warning
    plain_log()
    logging.set_verbosity(level)


class _Plain(python_logging.Formatter):
    def format(self, record: python_logging.LogRecord) -> str:
        text = super().format(record)
        if record.levelno >= python_logging.WARNING:
            text = f"{record.levelname.lower()}: {text}"
        return text


class Stopped(KeyboardInterrupt):
    """SIGINT or SIGTERM; the argument is the signal."""


@contextlib.contextmanager
def closed_pipe() -> Iterator[None]:
    """Ends the block quietly where nobody reads the standard output any more, as of `| head -1`."""
    try:
        try:
            yield
        except SystemExit:
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as stop:
        # Commands make a message of every OSError.
        if not isinstance(stop, BrokenPipeError) and not isinstance(
            stop.__context__, BrokenPipeError
        ):
            raise
        ends = select.poll()
        ends.register(sys.stdout.fileno(), 0)
        if not ends.poll(0):  # another pipe
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def until_stopped(program: Callable[[], None]) -> None:
    """Runs a program, which Ctrl-C and SIGTERM end with one line and the exit status 130 or 75.

    A program may handle the signals itself for a time. Otherwise `Stopped` is raised where it is, so
    that `finally` blocks put away what is half done; it is raised again where a library drops it.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as of a job in the background
            signal.signal(number, _stop)
    sys.unraisablehook = _of_others
    try:
        with closed_pipe():
            program()
    except KeyboardInterrupt as stop:
        signal.setitimer(signal.ITIMER_REAL, 0)
        [number] = stop.args or [signal.SIGINT]
        name = signal.Signals(number).name
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()
        print(f"Stopped by {name}. The same command goes on from what is saved.", file=sys.stderr)
        sys.stderr.flush()
        # Threads of libraries would print tracebacks or crash if the interpreter shut down.
        os._exit(UNFINISHED if number == signal.SIGTERM else _INTERRUPTED)


def _of_others(unraisable: Any) -> None:
    """Reports what a callback cannot raise, unless it is `Stopped`, which is raised again."""
    if not isinstance(unraisable.exc_value, Stopped):
        sys.__unraisablehook__(unraisable)


def _stop(number: int, frame: Any) -> None:
    def interrupt(alarm: int, frame: Any) -> None:
        del alarm, frame
        handled = sys.exception()
        while handled is not None and not isinstance(handled, Stopped):
            handled = handled.__context__
        if handled is None:
            raise Stopped(number)

    del frame
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS, _AGAIN_SECONDS)
    raise Stopped(number)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Hides what libraries write to stderr in the block, unless the block fails."""
    sys.stderr.flush()
    try:
        stderr = os.dup(2)
    except OSError:  # a process without stderr
        yield
        return
    with tempfile.TemporaryFile() as capture:
        os.dup2(capture.fileno(), 2)
        try:
            yield
        except Exception:
            sys.stderr.flush()
            capture.seek(0)
            os.write(stderr, capture.read())
            raise
        finally:
            sys.stderr.flush()
            os.dup2(stderr, 2)
            os.close(stderr)


class ProgressLine:
    """The last line of the terminal, as long as no later line is open.

    Attributes:
      visible: whether there is a terminal; where not, the methods do nothing.
    """

    def __init__(self, terminal: bool | None = None):
        """Opens a line.

        Args:
          terminal: whether stderr is a terminal; None: look.
        """
        is_shown = terminal if _shown is None else _shown
        self.visible = _stream().isatty() if is_shown is None else is_shown
        self._parts: Sequence[str] = ()
        self._drawn = -math.inf
        if self.visible:
            _open.append(self)
            _Above.install()

    def show(self, *parts: str) -> None:
        """Shows as many of the parts as fit, the first ones first."""
        if not self.visible:
            return
        now = time.monotonic()
        news = parts[1:] != self._parts[1:]
        self._parts = parts
        if _open[-1] is self and (news or now - self._drawn > _DRAW_SECONDS):
            self._drawn = now
            _draw()

    def text(self, width: int) -> str:
        """The parts that fit in `width` columns."""
        text = ""
        for part in self._parts:
            longer = f"{text}  {part}" if text else part
            if len(longer) > width:
                break
            text = longer
        return text or "".join(self._parts[:1])[:width]

    def close(self, keep: bool = False) -> None:
        """Takes the line away; with `keep` it stays above the lines that follow."""
        if self.visible and self in _open:
            _stream().write(_ERASE + (f"{self.text(_columns())}\n" if keep else ""))
            _open.remove(self)
            if _open:
                _draw()
            else:
                _Above.remove()
            _stream().flush()


_shown: bool | None = None  # whether lines are shown; None: on a terminal


@contextlib.contextmanager
def progress(shown: bool | None) -> Iterator[None]:
    """In the block progress is shown, or not; None: as before."""
    global _shown
    before = _shown
    _shown = _shown if shown is None else shown
    try:
        yield
    finally:
        _shown = before


@contextlib.contextmanager
def log_only(level: int) -> Iterator[None]:
    """In the block only messages of a level, such as `logging.WARNING`, and graver ones are logged."""
    # The loggers' own levels: absl's verbosity does not know of one that a caller of the API has set.
    loggers = python_logging.getLogger(), logging.get_absl_logger()
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.converter.absl_to_standard(level))
    try:
        yield
    finally:
        for logger, level_before in zip(loggers, before):
            logger.setLevel(level_before)


_open: list[ProgressLine] = []  # the line that was opened last is shown
_stages: list[str] = []  # names of the stages that have begun, the outer first


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """Shows the name of a stage, such as 'evaluating bli', also before the tasks within it."""
    logging.info("%s", name)
    line = ProgressLine()
    line.show(name)
    _stages.append(name)
    try:
        yield
    finally:
        _stages.remove(name)
        line.close()


@contextlib.contextmanager
def task(unit: str, total: int) -> Iterator[Callable[[int], None]]:
    """Shows how many of the units of a task are done, their rate and the time left.

    Args:
      unit: noun in the plural, such as 'texts'.
      total: number of units.

    Yields:
      A function that takes the number of units that were done since its last call.
    """
    line = ProgressLine()
    start = time.monotonic()
    done = 0
    logged = start

    def advance(count: int) -> None:
        nonlocal done, logged
        done += count
        now = time.monotonic()
        rate = done / max(now - start, 1e-6)
        parts = (
            f"{': '.join([*_stages[-1:], f'{done:,}/{total:,} {unit}'])}",
            f"{thousands(rate)} {unit}/s",
            f"{duration((total - done) / rate) if rate else '?'} left",
        )
        line.show(*parts)
        if not line.visible and _shown is None and now - logged > _LOG_SECONDS:
            logged = now
            logging.info("%s", "  ".join(parts))

    line.show(f"{': '.join([*_stages[-1:], f'{total:,} {unit}'])}")
    try:
        yield advance
    finally:
        line.close()


def duration(seconds: float) -> str:
    """'1:02:03' or '2:03'."""
    if not math.isfinite(seconds):
        return "?"
    minutes, remainder = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{remainder:02d}" if hours else f"{minutes}:{remainder:02d}"


def thousands(number: float) -> str:
    """'12.3k' or '640'; small rates as '0.25'."""
    if number >= 1000:
        return f"{number / 1000:.1f}k"
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def _stream() -> IO[str]:
    return sys.stderr


def _columns() -> int:
    """Columns that a line may fill: a full line would move the cursor to the next one."""
    try:
        return os.get_terminal_size(_stream().fileno()).columns - 1
    except (OSError, ValueError):
        return _WIDTH - 1


def _draw() -> None:
    _stream().write(_ERASE + _open[-1].text(_columns()))
    _stream().flush()


class _Above:
    """The stream of the log while a line is open: log lines are printed above it."""

    replaced = None

    def write(self, text: str) -> None:
        """Writes log lines."""
        self.replaced.write(_ERASE + text)
        _draw()

    def flush(self) -> None:
        """Flushes, as the log handler expects of a stream."""
        self.replaced.flush()

    def isatty(self) -> bool:
        """Whether this is a terminal: the log closes other streams when the program ends."""
        return True

    @classmethod
    def install(cls) -> None:
        """Takes the place of the log's stream, once."""
        handler = logging.get_absl_handler().python_handler
        if not isinstance(handler.stream, cls):
            above = cls()
            above.replaced = handler.stream
            handler.stream = above

    @classmethod
    def remove(cls) -> None:
        """Gives the log its stream back."""
        handler = logging.get_absl_handler().python_handler
        if isinstance(handler.stream, cls):
            handler.stream = handler.stream.replaced
