#!/usr/bin/env python3
"""Holds `/openapi.json` against its standard, and a running daemon against it.

usage: run.py [--greeksd PATH] [--examples N]

openapi-spec-validator checks the document; schemathesis asks every endpoint what the document allows and what it does
not, and compares status, type and schema of each answer. Starts a daemon of its own on the simulated market and ends it.
"""
import argparse, os, pathlib, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environment
from daemon import PROGRAM, Daemon

CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
          "response_schema_conformance"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=PROGRAM, type=pathlib.Path)
    parser.add_argument("--examples", default="25")
    wanted = parser.parse_args()
    environment.enter("openapi-venv", HERE / "requirements.txt")
    from openapi_spec_validator import OpenAPIV31SpecValidator

    for shown in [[], ["--show-quotes"]]:
        with Daemon(wanted.greeksd.resolve(), "--feed", "sim", "--now", "2026-11-20T13:00:00-05:00", *shown) as daemon:
            document = daemon.json("/openapi.json")
            faults = list(OpenAPIV31SpecValidator(document).iter_errors())
            if faults:
                raise SystemExit("\n".join(f"{list(fault.absolute_path)}: {fault.message}" for fault in faults[:20]))
            n = sum(len(path["get"].get("parameters", [])) for path in document["paths"].values())
            print(f"ok   the document is valid: {len(document['paths'])} paths, {n} parameters", flush=True)
            # an example of a search that other tests repeat must not be kept, nor a report sent
            command = [str(pathlib.Path(sys.executable).with_name("schemathesis")), "--config-file", str(HERE / "schemathesis.toml"),
                       "run", daemon.base + "/openapi.json", "--checks", ",".join(CHECKS), "--max-examples", wanted.examples,
                       "--seed", "1", "--generation-database", "none", "--mode", "all", "--no-color"]
            done = subprocess.run(command, cwd=daemon.folder.name, env={**os.environ, "NO_PROXY": "*"}, text=True, capture_output=True)
            if done.returncode:
                raise SystemExit(done.stdout[-12_000:] + done.stderr[-2_000:])
            tail = [line for line in done.stdout.splitlines() if "generated" in line or "passed" in line.lower()]
            print(f"ok   schemathesis{' with quotes' if shown else ''}: {'; '.join(line.strip() for line in tail)}", flush=True)
            if daemon.process.poll() is not None:
                raise SystemExit(f"the daemon ended: {daemon.said()}")


if __name__ == "__main__":
    main()
