"""httpx with HTTP/2: fetch the URLs of the command line, behind the authority's file, one after the other."""

import ssl
import sys

import httpx

with httpx.Client(http2=True, verify=ssl.create_default_context(cafile=sys.argv[1])) as client:
    for url in sys.argv[2:]:
        try:
            client.get(url)
        except httpx.HTTPError as error:
            sys.stderr.write(f"{error}\n")
