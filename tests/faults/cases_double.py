"""The table of double writes: group (b) of the case layer.

Laws of this module:

- As in ``cases_success``. The number of write requests is counted at the app, below every cache and proxy.
"""

from typing import Final

from faults.cases_app import Answer, ChartApp, Faults, Members, lost
from faults.cases_rig import Cell
from faults.cases_success import BACKGROUND
from surehand.core.outcome.reasons import Reason

DONE, NOT_SURE = Reason.SAVED_AND_CHECKED, Reason.SAVE_NOT_CONFIRMED

#: A page that tries again by itself when the connection is lost.
TRIES_AGAIN: Final = """form.addEventListener('submit', event => {
    event.preventDefault();
    const send = () => fetch(form.action, {method: 'POST', body: new URLSearchParams(new FormData(form))});
    send().catch(send).catch(send);
});"""

#: A page without a guard against the second of two clicks.
SENDS_TWICE: Final = """form.addEventListener('submit', event => {
    event.preventDefault();
    for (const _ of [1, 2]) fetch(form.action, {method: 'POST', body: new URLSearchParams(new FormData(form))});
});"""


def _refuse(app: ChartApp) -> None:
    app.refuse_connections()


def _twice(sent: Members) -> list[Members]:
    return [dict(sent), dict(sent)]


B3: Final = (
    Cell(
        name="b3_connection_refused",
        sentence="The app refuses the connection at the save: proven not to have left.",
        reason=Reason.PLATFORM_ERROR,
        posts=0,
        right=0,
        faults=Faults(at_read=(1, _refuse)),
        short=True,
    ),
    Cell(
        name="b3_stores_and_hangs",
        sentence="The app stores the entry and never answers: the read-back proves it.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(answer=Answer.HANG),
    ),
    Cell(
        name="b3_hangs_without_storing",
        sentence="The app takes the save, never answers and stores nothing.",
        reason=NOT_SURE,
        posts=1,
        right=0,
        faults=Faults(answer=Answer.HANG, store=lost),
    ),
    Cell(
        name="b3_stores_and_closes",
        sentence="The app stores the entry and closes the connection without a byte.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(answer=Answer.CLOSE),
    ),
    Cell(
        name="b3_closes_without_storing",
        sentence="The app closes the connection without a byte and stored nothing: no proof of that.",
        reason=NOT_SURE,
        posts=1,
        right=0,
        faults=Faults(answer=Answer.CLOSE, store=lost),
    ),
    Cell(
        name="b3_stores_and_answers_502",
        sentence="A gateway answers 502 although the entry was stored.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(answer=Answer.BAD_GATEWAY),
    ),
    Cell(
        name="b3_answers_502_without_storing",
        sentence="A gateway answers 502 and nothing was stored: no proof of that.",
        reason=NOT_SURE,
        posts=1,
        right=0,
        faults=Faults(answer=Answer.BAD_GATEWAY, store=lost),
    ),
)

B5: Final = (
    Cell(
        name="b5_cut_keep_alive",
        sentence="A kept connection is cut after the first POST; the browser's own second one never leaves.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(answer=Answer.CLOSE_FIRST),
        short=True,
    ),
    Cell(
        name="b5_cut_keep_alive_by_fetch",
        sentence="The same with a save by fetch.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(answer=Answer.CLOSE_FIRST, form_script=BACKGROUND),
    ),
    Cell(
        name="b5_cut_before_storing",
        sentence="The first POST is cut and lost; a second one would be stored, and never leaves.",
        reason=NOT_SURE,
        posts=1,
        right=0,
        faults=Faults(answer=Answer.CLOSE_FIRST, store=lost),
    ),
    Cell(
        name="b5_page_tries_again",
        sentence="The page itself sends again when the connection is lost.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(answer=Answer.CLOSE_FIRST, form_script=TRIES_AGAIN),
    ),
)

B6: Final = (
    Cell(
        name="b6_page_sends_twice",
        sentence="One click makes the page send twice: one leaves.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(form_script=SENDS_TWICE, answer=Answer.PAGE),
    ),
    Cell(
        name="b6_two_rows",
        sentence="The app itself stores one save twice: two equal new records are not done.",
        reason=NOT_SURE,
        posts=1,
        right=2,
        faults=Faults(store=_twice),
    ),
)

B7: Final = (
    Cell(
        name="b7_result_of_a_post",
        sentence="The result page is the answer to the POST, and the check is slow: it is never loaded again.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(answer=Answer.PAGE, lag=0.4),
    ),
    Cell(
        name="b7_result_of_a_post_unproven",
        sentence="The same when the check fails: the page is neither reloaded nor stepped back.",
        reason=NOT_SURE,
        posts=1,
        right=0,
        faults=Faults(answer=Answer.PAGE, store=lost),
        also=lambda app: None if _pages_after_the_save(app) == 0 else "a page was asked for after the save",
    ),
)


def _pages_after_the_save(app: ChartApp) -> int:
    """Requests for pages after the save; the record interface and the browser's icon are none."""
    at = next(at for at, each in enumerate(app.log) if each.method == "POST")
    return sum(not each.path.startswith(("/records", "/favicon")) for each in app.log[at + 1 :])


B12: Final = (
    Cell(
        name="b12_one_time_token",
        sentence="A second identical POST would get a blank page; only one is sent, so the record decides.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(one_time=True),
    ),
    Cell(
        name="b12_one_time_token_and_cut",
        sentence="The same, and the connection is cut after the first POST.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(one_time=True, answer=Answer.CLOSE_FIRST, form_script=TRIES_AGAIN),
    ),
)

DOUBLE_WRITES: Final[tuple[Cell, ...]] = (*B3, *B5, *B6, *B7, *B12)
