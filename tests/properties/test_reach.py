"""Which proxy stands on the way to an app, and that every end of an attempt has one refusal."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.core.outcome.evidence import Refusal
from surehand.core.workflow.fence import Origin
from surehand.core.workflow.reach import (
    HINDRANCES,
    Proxy,
    ProxySettings,
    Reach,
    UnsupportedProxy,
    proxy_for,
    proxy_settings,
)

APP = Origin("https", "app.example.com", 443)
PROXY = Proxy("proxy.example.com", 3128)
SETTINGS = ProxySettings(https="http://proxy.example.com:3128")


class TestWhichProxy:
    """The operator's variables alone decide, by the scheme of the app."""

    @pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
    def test_an_app_with_tls_is_reached_through_its_proxy(self, name: str) -> None:
        assert proxy_for(proxy_settings({name: "http://proxy.example.com:3128"}), APP) == PROXY

    @pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
    def test_an_app_without_tls_is_reached_through_the_other(self, name: str) -> None:
        settings = proxy_settings({name: "http://proxy.example.com:3128"})

        assert proxy_for(settings, Origin("http", "app.example.com", 80)) == PROXY

    def test_one_scheme_does_not_speak_for_the_other(self) -> None:
        assert proxy_for(proxy_settings({"http_proxy": "http://proxy.example.com:3128"}), APP) is None

    def test_a_name_in_lower_case_wins(self) -> None:
        both = {
            "https_proxy": "http://proxy.example.com:3128",
            "HTTPS_PROXY": "http://other:1",
            "ALL_PROXY": "socks5://x",
        }

        assert proxy_for(proxy_settings(both), APP) == PROXY

    def test_without_variables_there_is_none(self) -> None:
        assert proxy_settings({}) == ProxySettings()
        assert proxy_for(proxy_settings({"https_proxy": " "}), APP) is None

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("proxy.example.com:3128", PROXY),
            ("HTTP://proxy.example.com:3128/", PROXY),
            ("http://proxy.example.com", Proxy("proxy.example.com", 80)),
            ("http://[::1]:3128", Proxy("::1", 3128)),
            ("http://10.0.0.1:3128", Proxy("10.0.0.1", 3128)),
        ],
    )
    def test_how_it_may_be_written(self, text: str, expected: Proxy) -> None:
        assert proxy_for(ProxySettings(https=text), APP) == expected

    @pytest.mark.parametrize(
        "text",
        [
            "socks5://proxy:1080",
            "https://proxy:3128",
            "http://proxy:0",
            "http://proxy:65536",
            "http://pro xy:1",
            "http://a@b@c",
        ],
    )
    def test_another_kind_is_refused_and_never_left_out(self, text: str) -> None:
        assert proxy_for(ProxySettings(https=text), APP) == UnsupportedProxy()

    @given(st.text(), st.text())
    def test_any_text_is_a_proxy_or_refused(self, text: str, bypass: str) -> None:
        found = proxy_for(ProxySettings(https=text, bypass=bypass), APP)

        assert found is None or isinstance(found, Proxy | UnsupportedProxy)


class TestCredentials:
    """The user's name and password become a header, and are shown nowhere."""

    @given(
        st.text("abcXYZ09._~-", min_size=1, max_size=8),
        st.text("abcXYZ09._~-", max_size=8),
    )
    def test_they_are_sent_as_written(self, user: str, password: str) -> None:
        found = proxy_for(ProxySettings(https=f"http://{user}:{password}@proxy.example.com:3128"), APP)

        assert isinstance(found, Proxy)
        assert found.authorization == "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    def test_they_may_hold_encoded_characters(self) -> None:
        found = proxy_for(ProxySettings(https="http://DOM%5Cjo:a%40b%0d%0aX@proxy.example.com:3128"), APP)

        assert isinstance(found, Proxy)
        assert base64.b64decode(found.authorization.removeprefix("Basic ")) == b"DOM\\jo:a@b\r\nX"

    def test_neither_the_settings_nor_the_proxy_show_them(self) -> None:
        settings = ProxySettings(http="http://jo:secret@proxy", https="http://jo:secret@proxy")
        shown = repr((settings, proxy_for(settings, APP)))

        assert "secret" not in shown
        assert base64.b64encode(b"jo:secret").decode() not in shown


class TestWhatIsReachedWithout:
    """``NO_PROXY`` names hosts, hosts below a name, addresses and networks; loopback needs no naming."""

    @pytest.mark.parametrize(
        "bypass",
        [
            "app.example.com",
            "example.com",
            ".example.com",
            "*.example.com",
            "x, EXAMPLE.com",
            "*",
            "app.example.com:443",
        ],
    )
    def test_a_name_that_is_listed(self, bypass: str) -> None:
        assert proxy_for(ProxySettings(https=SETTINGS.https, bypass=bypass), APP) is None

    @pytest.mark.parametrize("bypass", ["", "ample.com", "app.example.com:444", "other.com", "10.0.0.0/8", "."])
    def test_a_name_that_is_not(self, bypass: str) -> None:
        assert proxy_for(ProxySettings(https=SETTINGS.https, bypass=bypass), APP) == PROXY

    @pytest.mark.parametrize(
        ("bypass", "is_listed"),
        [
            ("10.1.2.3", True),
            ("10.0.0.0/8", True),
            ("10.1.2.3:443", True),
            ("10.1.2.3:80", False),
            ("10.1.2.4", False),
            ("192.168.0.0/16", False),
            ("3", False),
        ],
    )
    def test_an_address(self, bypass: str, *, is_listed: bool) -> None:
        found = proxy_for(ProxySettings(https=SETTINGS.https, bypass=bypass), Origin("https", "10.1.2.3", 443))

        assert (found is None) is is_listed

    @pytest.mark.parametrize("host", ["localhost", "app.localhost", "127.0.0.1", "127.8.8.8", "[::1]"])
    def test_loopback_is_never_reached_through_a_proxy(self, host: str) -> None:
        settings = ProxySettings(http="socks5://x", https="socks5://x")

        assert proxy_for(settings, Origin("http", host, 8080)) is None


class TestEveryEndHasItsRefusal:
    """What keeps an app from being reached is refused by name, and never as something that may have written."""

    def test_every_end_but_the_good_one_has_a_row(self) -> None:
        assert set(Reach) - {Reach.REACHED} == set(HINDRANCES)

    @pytest.mark.parametrize("reach", HINDRANCES)
    def test_the_refusal_is_one_that_says_that_nothing_was_written(self, reach: Reach) -> None:
        found = HINDRANCES[reach]

        assert found.refusal in {Refusal.APP_UNREACHABLE, Refusal.NOT_READY_TO_RUN}
        assert found.checks or reach is Reach.NOBODY_THERE
