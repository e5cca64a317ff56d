"""Errors of requests in one JSON shape: `{"errors": [{code, message, fix, line, column, …}]}`."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from presage.console.answers import all_as_json, as_json
from presage.errors import PresageError, error
from presage.execution.spark.failures import explain_failure, is_of_spark
from presage.logging import ERROR, tell

# By whose fault it is. An unknown name is a mistake of the client, like any other in a text.
STATUS = {"syntax": 422, "binding": 422, "type": 422, "unsupported": 422, "data": 422, "resource": 409, "internal": 500}
STATUS_OF_CODE = {
    "ENGINE_CLOSED": 503,
    "LIVE_STOPPED": 503,
    "HOME_OVERTAKEN": 503,
    "TIMEOUT": 504,
    "LIMIT": 413,
    "UNKNOWN_OBJECT": 404,
}


def answer(problem: PresageError) -> JSONResponse:
    status = STATUS_OF_CODE.get(problem.code, STATUS[problem.fault])
    return JSONResponse({"errors": all_as_json(problem)}, status)


def add_failures(app: FastAPI) -> None:
    """Every way in which a request can fail, in the one shape."""

    @app.exception_handler(PresageError)
    def of_ours(request: Request, problem: PresageError) -> JSONResponse:
        return answer(problem)

    @app.exception_handler(RequestValidationError)
    def of_shape(request: Request, problem: RequestValidationError) -> JSONResponse:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "the body"
        return answer(error("DATA_SHAPE", what=f"'{where}' of the request", found=str(first["msg"]).lower()))

    @app.exception_handler(HTTPException)
    def of_http(request: Request, problem: HTTPException) -> JSONResponse:
        fix = "the page /api shows what there is"
        found = error("UNKNOWN_OBJECT", kind="resource", name=f"{request.method} {request.url.path}", fix=fix)
        return JSONResponse({"errors": [as_json(found)]}, problem.status_code)

    @app.exception_handler(Exception)
    def of_others(request: Request, failure: Exception) -> JSONResponse:
        if is_of_spark(failure):
            return answer(explain_failure(failure))
        told = "a request of the console failed: {path}"
        tell(ERROR, "REQUEST_FAILED", told, failure=failure, path=request.url.path)
        return answer(error("INTERNAL", what=f"{type(failure).__name__}: {failure}"))
