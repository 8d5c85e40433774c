"""The pages of ``serve``, and which request each answers."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from originset.analysis.importing.har_files import MAX_BYTES
from originset.cli.serve.guard import Guard
from originset.cli.serve.page_templates import html, text_file
from originset.cli.serve.study_answers import StudyAnswers
from originset.cli.serve.uploaded_explanation import explain_files
from originset.cli.serve.uploaded_files import receive_files
from originset.data.errors import OriginsetError, UsageError
from originset.data.studies.study import Study
from originset.queries.catalogue import catalogue
from originset.queries.report.printable_text import printable_excerpt
from originset.queries.visit_selection import PAGE_KINDS

# The report's own policy, in its head, permits its script and style by their hashes. In a sandbox the report has an
# origin of its own: whatever ran in it could read no other page of this server.
_REPORT_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts allow-modals"
}
_LONGEST_PROBLEM = 1000
_SECONDS_TO_ARRIVE = 600.0


def application(study: Study | None, folder: Path, authority: str, token: str, most_bytes: int = MAX_BYTES) -> Guard:
    """All pages. ``folder``: for uploaded files; ``most_bytes``: of an upload; the others as in :class:`Guard`."""
    answers = None if study is None else StudyAnswers(study)
    pages = _Pages(answers, folder, most_bytes)
    routes = [
        Route("/", pages.start),
        Route("/explain", pages.explain, methods=["POST"]),
        Route("/style.css", _style),
        Route("/upload.js", _script),
    ]
    if answers is not None:
        study_pages = _StudyPages(answers)
        routes += [
            Route("/queries", study_pages.queries),
            Route("/query", study_pages.query),
            Route("/visit", study_pages.visit),
        ]
    app = Starlette(routes=routes, exception_handlers={OriginsetError: pages.problem})
    app.router.redirect_slashes = False  # they would lead out of the token's folder
    return Guard(app, authority, token)


class _Pages:
    def __init__(self, study: StudyAnswers | None, folder: Path, most_bytes: int) -> None:
        self._study = study
        self._folder = folder
        self._most_bytes = most_bytes
        self._explaining = asyncio.Lock()

    def start(self, _request: Request) -> Response:
        overview = [] if self._study is None else self._study.overview()
        return HTMLResponse(self._html("start", overview=overview, most_bytes=self._most_bytes))

    async def explain(self, request: Request) -> Response:
        """Explain the files of a form: one upload at a time, and none of it is kept."""
        async with self._explaining:
            with tempfile.TemporaryDirectory(dir=self._folder) as name:
                folder = Path(name)
                try:
                    async with asyncio.timeout(_SECONDS_TO_ARRIVE):
                        files = await receive_files(request, folder, self._most_bytes)
                except ClientDisconnect:
                    return Response(status_code=400)  # for nobody
                except TimeoutError as error:
                    problem = f"the files did not arrive within {_SECONDS_TO_ARRIVE:.0f} s"
                    raise UsageError(problem, "choose them again") from error
                except OSError as error:
                    raise UsageError(f"the files cannot be kept ({error.strerror})", "make room") from error
                page = await run_in_threadpool(explain_files, files, folder)
        return HTMLResponse(page, headers=_REPORT_HEADERS)

    def problem(self, _request: Request, error: Exception) -> Response:
        """Errors that users can do something about; 400, whatever they are."""
        return HTMLResponse(self._html("problem", problem=printable_excerpt(str(error), _LONGEST_PROBLEM)), 400)

    def _html(self, template: str, **values: object) -> str:
        return html(template, study=None if self._study is None else self._study.title, **values)


class _StudyPages:
    def __init__(self, study: StudyAnswers) -> None:
        self._study = study

    def queries(self, _request: Request) -> Response:
        return HTMLResponse(html("queries", study=self._study.title, queries=catalogue().values()))

    def query(self, request: Request) -> Response:
        given = dict(request.query_params)
        answer = self._study.answer(given.pop("name", ""), given)
        return HTMLResponse(html("query", study=self._study.title, answer=answer, page_kinds=PAGE_KINDS))

    def visit(self, request: Request) -> Response:
        return HTMLResponse(self._study.page(request.query_params.get("id", "")), headers=_REPORT_HEADERS)


def _style(_request: Request) -> Response:
    return Response(text_file("style.css"), media_type="text/css")


def _script(_request: Request) -> Response:
    return Response(text_file("upload.js"), media_type="text/javascript")
