# Crawls as an ordinary user, with both browsers. The tag of Debian and constraints.txt decide all versions. Not built yet.
# docker build --build-arg DEBIAN=bookworm-DATE-slim -t originset .
ARG DEBIAN=bookworm-slim

# hadolint ignore=DL3006
FROM debian:${DEBIAN} AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates gcc python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY . /source
WORKDIR /source
RUN python3 -m venv /opt/originset \
    && /opt/originset/bin/pip install --no-cache-dir --constraint constraints.txt --upgrade pip \
    && /opt/originset/bin/pip install --no-cache-dir --constraint constraints.txt --build-constraint constraints.txt \
       ".[cluster,crawl,figures,mrt]"

# hadolint ignore=DL3006
FROM debian:${DEBIAN}
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates chromium chromium-headless-shell \
    chromium-sandbox firefox-esr iproute2 libnss3-tools python3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home crawler \
    && install --directory --owner crawler /home/crawler/study
COPY --from=build /opt/originset /opt/originset
ENV PATH=/opt/originset/bin:$PATH
USER 1000
WORKDIR /home/crawler
ENTRYPOINT ["originset"]
CMD ["--help"]
