"""How pages explain each kind of failure: what happened, what to do, and the status.

The API's own message never reaches the page.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from portal.i18n.gettext import _, ngettext
from portal.request_values import reader_is_staff
from portal.services.errors import (
    BadResponse,
    CareError,
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    NotOffered,
    NotSetUp,
    NotTaken,
    ReadOnlyMode,
    Refused,
    SortRefused,
    TokenRefused,
    Unavailable,
)
from portal.values import Value
from portal.web.refusals import refusal_message


class Explanation(Value, frozen=True):
    """How a page explains a failure: what happened, what to do, and whether trying again may help."""

    status: int
    title: str
    happened: str
    todo: str
    can_retry: bool = False


def explain(error: CareError) -> Explanation:
    match error:
        case TokenRefused():
            return Explanation(
                502,
                _("The clinic’s system doesn’t accept your sign-in"),
                _("You are signed in here, but the clinic’s system refused that. Your records are safe."),
                _("Sign out, then sign in again. If it happens again, tell your administrator.")
                if reader_is_staff()
                else _("Sign out, then sign in again. If it happens again, tell the clinic."),
                can_retry=True,
            )
        case NotAllowed():
            return Explanation(
                403,
                _("You can’t open this"),
                _("Your role at this clinic doesn’t include this page or this action."),
                _("If you think it should, ask your administrator.")
                if reader_is_staff()
                else _("If you think it should, ask the clinic."),
            )
        case NotTaken():
            return Explanation(
                502,
                _("The clinic’s system doesn’t take this"),
                refusal_message(error.code),
                _("Nothing was changed. Please tell your administrator.")
                if reader_is_staff()
                else _("Nothing was changed. Please tell the clinic."),
            )
        case SortRefused():
            return Explanation(
                400,
                _("This list can’t be sorted like that"),
                refusal_message(error.code),
                _("Go back to the list and sort it in another way."),
            )
        case Refused():
            return Explanation(
                403,
                _("That can’t be done now"),
                refusal_message(error.code),
                _("Nothing was changed. Go back and look at it as it is now."),
            )
        case NotFound():
            return Explanation(
                404,
                _("We can’t find that"),
                _("It may have been removed, may not be ready yet, or may belong to someone else.")
                if reader_is_staff()
                else _(
                    "It may have been removed, may not be ready yet, or may not be shared with you any more."
                ),
                _("Check the address, or start again from the home page."),
            )
        case Conflict():
            return Explanation(
                409,
                _("Someone changed this meanwhile"),
                _("It is not as it was when you opened it, so nothing was saved over it."),
                _("Open it again to see it as it is now."),
                can_retry=True,
            )
        case Invalid():
            return Explanation(
                400,
                _("The clinic’s system didn’t accept that"),
                _("Something in what was sent isn’t right. Nothing was changed."),
                _("Go back, check what you entered and try again."),
            )
        case NotOffered(about_record=True):
            return Explanation(
                501,
                _("This record is kept elsewhere"),
                _("The clinic keeps this record in another system, so it can’t be shown or changed here."),
                _in_another_system(),
            )
        case NotOffered():
            return Explanation(
                501,
                _("Your clinic doesn’t offer this here"),
                _("This part of the portal isn’t used by your clinic."),
                _in_another_system(),
            )
        case NotSetUp():
            return client_refused()
        case ReadOnlyMode():
            return Explanation(
                503,
                _("That wasn’t done"),
                _("Nothing can be changed while the portal is being worked on. You can go on reading."),
                _("Please try again later.")
                if reader_is_staff()
                else _("Please try again later. If it can’t wait, call your clinic."),
                can_retry=True,
            )
        case Unavailable(outcome_known=False):
            return Explanation(
                503,
                _("We couldn’t confirm that"),
                _("The clinic’s system didn’t answer, so we don’t know whether it was done."),
                _("Open the record and see how it stands before you try again."),
            )
        case Unavailable(is_undone=True):
            return not_taken()
        case BadResponse():
            return Explanation(
                502,
                _("This can’t be shown right now"),
                _("The portal can’t read what the clinic’s system answered. Your records are safe."),
                _in_a_minute(),
                can_retry=True,
            )
        case Unavailable():
            return Explanation(
                503,
                _("This can’t be shown right now"),
                _("The clinic’s system isn’t answering. Your records are safe."),
                _in_a_minute(),
                can_retry=True,
            )
        case _:
            return internal_error()


def not_taken() -> Explanation:
    """Explain a form with which nothing was done, because the clinic's system fails."""
    return Explanation(
        503,
        _("That wasn’t done"),
        _("The clinic’s system can’t take this right now. Nothing was changed."),
        _in_a_minute(),
        can_retry=True,
    )


def typed_is_kept(what: Explanation) -> Explanation:
    """Explain the same where what was typed waits for whoever opens the form again."""
    kept = _("What you typed is kept: it is in the form when you open it again.")
    return replace(what, todo=f"{kept} {what.todo}")


def internal_error() -> Explanation:
    """Explain a fault of the portal's own."""
    return Explanation(
        500,
        _("Something went wrong on our side"),
        _("This page can’t be shown right now."),
        _("Please try again in a few minutes.")
        if reader_is_staff()
        else _("Please try again in a few minutes. If it is urgent, call your clinic."),
    )


def too_slow() -> Explanation:
    """Explain a page that couldn't be made in time."""
    return Explanation(
        503,
        _("This can’t be shown right now"),
        _("It took too long to put this page together. Your records are safe."),
        _in_a_minute(),
        can_retry=True,
    )


def _in_a_minute() -> str:
    if reader_is_staff():
        return _("Please try again in a minute.")
    return _("Please try again in a minute. If it is urgent, call your clinic.")


def _in_another_system() -> str:
    if reader_is_staff():
        return _("Look in the clinic’s own system.")
    return _("Ask the clinic and they will help you.")


def unknown_address() -> Explanation:
    """Explain an address that the portal doesn't have: nothing says that anything was ever there."""
    return Explanation(
        404,
        _("We can’t find that"),
        _("The portal has no page at this address."),
        _("Check the address, or start again from the home page."),
    )


def please_tell() -> str:
    """Say whom to tell that a record isn't as it should be."""
    return _("Please tell your administrator.") if reader_is_staff() else _("Please tell the clinic.")


def store_down() -> Explanation:
    return Explanation(
        503,
        _("The portal can’t be used right now"),
        _("It can’t look up who is signed in. You stay signed in, and your records are safe."),
        _in_a_minute(),
    )


def store_full() -> Explanation:
    return Explanation(
        503,
        _("That can’t be done right now"),
        _(
            "The portal can’t take in anything new at the moment. Nothing was changed, and your records are safe."
        ),
        _in_a_minute(),
    )


def signed_out_here() -> Explanation:
    """Explain a sign-out that the store can't record: the cookie is gone, the session ends with its time."""
    return Explanation(
        503,
        _("You are signed out in this browser"),
        _("The portal couldn’t end your session everywhere. It ends by itself when it isn’t used."),
        _("On a shared device, close the browser too."),
    )


def client_refused() -> Explanation:
    """Explain an identity server that refuses this client (RFC 6749, section 5.2)."""
    return Explanation(
        503,
        _("Signing in isn’t possible right now"),
        _("The portal isn’t set up correctly at the sign-in service. You did nothing wrong."),
        _("Trying again won’t help: please call your clinic, so that they can have it put right."),
    )


def identity_down() -> Explanation:
    return Explanation(
        503,
        _("Signing in isn’t possible right now"),
        _("The sign-in service isn’t answering."),
        _("Please try again in a minute. If it is urgent, call your clinic."),
        can_retry=True,
    )


def sign_in_loop() -> Explanation:
    """Explain a browser that comes back from signing in and is not signed in."""
    return Explanation(
        400,
        _("Signing in doesn’t work here"),
        _("You came back from signing in several times, and this browser still doesn’t keep you signed in."),
        _("Allow cookies for this address, close other tabs of the portal, then go to the home page."),
    )


def stale_page(*, is_kept: bool) -> Explanation:
    """Explain a form whose CSRF token is over; `is_kept`: what was typed will be there."""
    return Explanation(
        400,
        _("This page was open for too long"),
        _("For your safety, a form can only be sent for a while. Nothing was changed."),
        _("Refresh this page: what you had typed is there, and you can send it again.")
        if is_kept
        else _("Refresh this page and send it again."),
        can_retry=True,
    )


def _start_again() -> str:
    return _("Go back and try again, or start from the home page.")


def too_many(seconds: int) -> Explanation:
    """Explain a limit (429), with the time until one may go on."""
    minutes = math.ceil(seconds / 60)
    when = (
        ngettext("You can go on in %(num)d second.", "You can go on in %(num)d seconds.", seconds)
        if seconds < 120
        else ngettext("You can go on in %(num)d minute.", "You can go on in %(num)d minutes.", minutes)
    )
    return Explanation(
        429,
        _("Too many tries"),
        _("There were too many requests from here in a short time. Nothing was changed."),
        when,
        can_retry=True,
    )


def too_many_downloads() -> Explanation:
    """Explain that files are still on their way to the same person."""
    return Explanation(
        503,
        _("Too many files at once"),
        _("Several files are still on their way from here."),
        _("Wait until one of them has arrived, then try again."),
        can_retry=True,
    )


def wrong_method() -> Explanation:
    return Explanation(
        405, _("That doesn’t work this way"), _("This address can’t be used like that."), _start_again()
    )


def not_understood(status: int) -> Explanation:
    """Explain a request that can't be read."""
    return Explanation(
        status,
        _("That didn’t work"),
        _("The page couldn’t understand what was sent. Nothing was changed."),
        _start_again(),
    )
