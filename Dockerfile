# edigw in a container: docs/install.md. The installation (settings, keys,
# outbox, inbox, data) lives in the volume /edigw.
#
#   docker build -t edigw --build-arg EDIGW_VERSION=1.0.0 .

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG EDIGW_VERSION=unknown
RUN EDIGW_VERSION="$EDIGW_VERSION" deploy/build.sh /out/edigw

# SQLite is linked against the C library, so the last stage has the same one.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates tzdata \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 edigw \
 && useradd --uid 10001 --gid edigw --no-create-home --home-dir /edigw --shell /usr/sbin/nologin edigw \
 && install -d -o edigw -g edigw -m 0700 /edigw
COPY --from=build /out/edigw /usr/local/bin/edigw
COPY docs LICENSE* /usr/local/share/doc/edigw/

USER edigw
WORKDIR /edigw
ENV EDIGW_CONFIG=/edigw/edigw.yaml
VOLUME /edigw

# 4080: partners. 4000: operators, API, metrics; publish it on loopback only.
EXPOSE 4080 4000

# Longer than stop_timeout: docker run --stop-timeout 90
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=6s --start-period=20s --retries=3 CMD ["edigw", "health"]

ENTRYPOINT ["edigw"]
CMD ["serve"]
