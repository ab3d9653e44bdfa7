# attend serve, from the sources, on Debian 12. The models are a volume:
#     docker build -t attend .
#     docker run --rm -p 127.0.0.1:5000:5000 -v /srv/models:/models:ro --read-only --cap-drop ALL attend --model en-de=/models/en-de
FROM debian:bookworm AS build
COPY . /attend
WORKDIR /attend
RUN apt-get update && apt-get install -y --no-install-recommends make && make deb

FROM debian:bookworm-slim
COPY --from=build /attend/build/deb/attend_*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/attend_*.deb && rm -rf /tmp/*.deb /var/lib/apt/lists/*
USER 65534:65534
EXPOSE 5000
STOPSIGNAL SIGTERM
ENTRYPOINT ["attend", "serve", "--listen", "0.0.0.0:5000"]
