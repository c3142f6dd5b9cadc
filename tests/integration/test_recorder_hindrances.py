"""What stands in the way of a task: checks for persons, sockets, calendars that pop up, and frames of other servers."""

import pytest
from playwright.async_api import Page

from support.browser import Site
from support.recorder import kinds, only, recorded, unique
from surehand.core.workflow.recording import Clicked, Entered, Happened


async def press(page: Page) -> None:
    """Press the button."""
    await page.get_by_role("button", name="Save").click()


class TestChecksForPersons:
    """A form that asks whether a person is there is told before it is sent, and nothing else is taken for one."""

    FORM = """<form onsubmit="return false"><label>Note <input></label>INSIDE<button>Save</button></form>OUTSIDE"""
    WIDGETS = (
        '<div class="g-recaptcha" data-sitekey="k">?</div>',
        '<div class="h-captcha" data-sitekey="k">?</div>',
        '<div class="cf-turnstile" data-sitekey="k">?</div>',
        '<iframe src="/recaptcha/api2/anchor" title="reCAPTCHA"></iframe>',
    )
    NONE = (
        "",
        '<div class="g-recaptcha" data-sitekey="k" data-size="invisible"></div>',
        '<div class="grecaptcha-badge"><iframe src="/recaptcha/api2/anchor"></iframe></div>',
        '<div class="h-captcha" style="display: none">?</div>',
        '<iframe src="/help/captchas"></iframe>',
    )

    @pytest.mark.parametrize("widget", WIDGETS)
    def test_it_is_told_once_and_before_the_click(self, site: Site, widget: str) -> None:
        async def acts(page: Page) -> None:
            await press(page)
            await press(page)

        recording = recorded(site, self.FORM.replace("INSIDE", widget).replace("OUTSIDE", ""), acts)

        assert kinds(recording) == ["Happened", "Clicked", "Clicked"]
        assert only(recording, Happened).what == "human_check"

    @pytest.mark.parametrize("widget", NONE)
    def test_what_asks_nobody_is_none(self, site: Site, widget: str) -> None:
        assert kinds(recorded(site, self.FORM.replace("INSIDE", widget).replace("OUTSIDE", ""), press)) == ["Clicked"]

    def test_that_of_another_form_is_none_of_this_one(self, site: Site) -> None:
        html = self.FORM.replace("INSIDE", "").replace("OUTSIDE", f"<form>{self.WIDGETS[0]}</form>")

        assert kinds(recorded(site, html, press)) == ["Clicked"]


class TestSockets:
    """A WebSocket is told by its path, whether or not it comes to be."""

    def test_one_that_a_page_opens(self, site: Site) -> None:
        html = (
            """<button onclick="new WebSocket('ws://' + location.host + '/live/481/ws?token=CANARY')">Save</button>"""
        )

        async def acts(page: Page) -> None:
            async with page.expect_websocket():
                await press(page)

        (told,) = (each for each in recorded(site, html, acts).exchanges if each.socket)

        assert (told.method, told.place.path, told.after) == ("GET", "/live/481/ws", 2)


class TestCalendars:
    """A day that is picked in a calendar that pops up is what was entered into its field, and no click of its own."""

    HTML = """<label>Due <input id="due" onfocus="calendar.hidden = false"></label>
        <table id="calendar" hidden><tr>DAYS</tr></table><button>Save</button>
        <script>for (const day of document.querySelectorAll('#calendar td')) day.onmousedown = event => {
          event.preventDefault();
          due.value = '2026-05-' + day.textContent.padStart(2, '0');
          due.dispatchEvent(new Event('change', { bubbles: true }));
          calendar.hidden = true; }</script>"""

    def test_a_picked_day(self, site: Site) -> None:
        async def acts(page: Page) -> None:
            await page.get_by_label("Due").click()
            await page.get_by_role("cell", name="14", exact=True).click()
            await press(page)

        days = "".join(f'<td class="day" style="cursor: pointer">{day}</td>' for day in range(13, 17))
        recording = recorded(site, self.HTML.replace("DAYS", days), acts)

        assert kinds(recording) == ["Entered", "Clicked"]
        assert (only(recording, Entered).value, only(recording, Entered).typed) == ("2026-05-14", "")
        assert only(recording, Clicked).facts.caption == "Save"


class TestFramesOfOtherServers:
    """What is done in a frame of another server is told with its frame and origin, and the compiler refuses it."""

    def test_a_field_there(self, site: Site) -> None:
        elsewhere = site.origin.replace("127.0.0.1", "localhost")
        site.pages["/inner"] = "<label>Card <input name='card'></label>"

        async def acts(page: Page) -> None:
            await page.frame_locator("iframe").get_by_label("Card").click()
            await page.keyboard.type("some words")
            await press(page)

        html = f'<iframe name="Payment" src="{elsewhere}/inner"></iframe><button>Save</button>'
        entered = only(recorded(site, html, acts), Entered)

        assert (entered.value, entered.place.origin, entered.place.path) == ("some words", elsewhere, "/inner")
        assert {target.frame for target in unique(entered.candidates)} == {"Payment"}
