"""Consent banners: which are known, and the button of each that accepts everything.

The elements are those that the products' own documentation and scripts name. What is not on the list is not seen.
"""

from __future__ import annotations

import json

from originset.crawler.browsers.devtools import DevTools

# The outermost element of a platform's banner, and its button; None where the button is out of reach: in a frame of
# another site.
PLATFORMS: tuple[tuple[str, str | None], ...] = (
    ("#onetrust-banner-sdk", "#onetrust-accept-btn-handler"),  # OneTrust
    (  # Cookiebot
        "#CybotCookiebotDialog",
        "#CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll, #CybotCookiebotDialogBodyButtonAccept",
    ),
    (".qc-cmp2-container", ".qc-cmp2-summary-buttons button[mode='primary']"),  # Quantcast
    (  # TrustArc
        "#truste-consent-track, #consent_blackbar, .truste_box_overlay",
        "#truste-consent-button",
    ),
    ("#didomi-host .didomi-popup-container, #didomi-notice", "#didomi-notice-agree-button"),  # Didomi
    (  # Usercentrics
        "#usercentrics-root, #usercentrics-cmp-ui",
        "button[data-testid='uc-accept-all-button'], button#accept",
    ),
    ("iframe[id^='sp_message_iframe']", None),  # Sourcepoint
    (".osano-cm-window .osano-cm-dialog", ".osano-cm-accept-all, .osano-cm-accept"),  # Osano
    (  # CookieYes
        ".cky-consent-container, #cookie-law-info-bar",
        ".cky-btn-accept, #cookie_action_close_header",
    ),
    ("#cmplz-cookiebanner-container .cmplz-cookiebanner", ".cmplz-btn.cmplz-accept"),  # Complianz
    ("#iubenda-cs-banner", ".iubenda-cs-accept-btn"),  # iubenda
    (".klaro .cookie-notice, .klaro .cookie-modal", ".klaro .cm-btn-success"),  # Klaro
    (  # Borlabs
        "#BorlabsCookieBox, #BorlabsDialog",
        "[data-cookie-accept-all], .brlbs-btn-accept-all",
    ),
    (".fc-consent-root", ".fc-cta-consent"),  # Google Funding Choices
    ("#axeptio_overlay", "#axeptio_btn_acceptAll"),  # Axeptio
    ("#cmpbox", ".cmpboxbtnyes"),  # consentmanager
    (  # tarteaucitron
        "#tarteaucitronAlertBig, #tarteaucitronRoot.tarteaucitronBeforeVisible",
        "#tarteaucitronPersonalize2",
    ),
    (".cc-window[role='dialog']", ".cc-window .cc-allow, .cc-window .cc-dismiss"),  # Cookie Consent by Osano
    ("#cc-main .cm-wrapper", "#cc-main .cm [data-role='all']"),  # CookieConsent by Orest Bida
    (  # Termly
        ".termly-styles-root, [data-tid='banner-wrapper']",
        "[data-tid='banner-accept']",
    ),
    ("#hs-eu-cookie-confirmation", "#hs-eu-confirmation-button"),  # HubSpot
    ("#shopify-pc__banner", "#shopify-pc__banner__btn-accept"),  # Shopify
)

_TIMEOUT_S = 5.0
_SCRIPT = """\
((PLATFORMS) => {
  const drawn = (one) => one.getClientRects().length > 0 && getComputedStyle(one).visibility !== "hidden";
  for (const [banner, button] of PLATFORMS) {
    const banners = [...document.querySelectorAll(banner)];
    // The host of a shadow tree may have no box of its own.
    if (!banners.some((one) => drawn(one) || one.shadowRoot)) continue;
    const places = [document, ...banners.map((one) => one.shadowRoot).filter(Boolean)];
    const found = places.flatMap((place) => [...place.querySelectorAll(button)]).find(drawn);
    if (found) { found.click(); return true }
  }
  return false;
})"""
_CALL = f"{_SCRIPT}({json.dumps([pair for pair in PLATFORMS if pair[1] is not None])})"


def accept_all(devtools: DevTools, session: str, frame: str) -> bool:
    """Click the button of the known banner that a page shows; False if there is none that can be reached.

    Raises:
        DevToolsSilent, DevToolsError, DevToolsLost: as for :func:`originset.crawler.page_facts.look`.
    """
    world = devtools.call("Page.createIsolatedWorld", session, _TIMEOUT_S, frameId=frame)["executionContextId"]
    answer = devtools.call("Runtime.evaluate", session, _TIMEOUT_S, expression=_CALL, contextId=world, userGesture=True)
    return answer["result"].get("value") is True
