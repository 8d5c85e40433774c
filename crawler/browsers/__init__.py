"""Browsers started, steered and ended: Chromium by DevTools, Firefox by WebDriver BiDi, shut in and kept apart."""
