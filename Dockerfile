# The image of kubeherald: Node and the bundle, no shell, no package manager. deploy/image/README.md tells more.

# Bundles for every platform on the one that builds: there is no native code in it.
FROM --platform=$BUILDPLATFORM node:24.21.0-trixie-slim@sha256:8ec5d7557396cfe32d21c3f9c13072355ceab22b584578ca4bb28af31120cffe AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json LICENSE ./
COPY deploy/build deploy/build
COPY sinks sinks
COPY src src
RUN node deploy/build/bundle.mjs /out/app --without-types \
    && rm -r /out/app/sink \
    && cp package.json LICENSE /out/app/
# Over the home of the base's user, to which that user may write: nothing is written here.
RUN mkdir -p /out/home/nonroot
# The same source gives the same layer: no time of the build, nothing that depends on who built.
ARG SOURCE_DATE_EPOCH=0
RUN chmod -R a-w,a+rX /out && find /out -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

FROM gcr.io/distroless/nodejs24-debian13:nonroot@sha256:9eeb7f5887d0e239e78264b06f7f11d2e14be534050481803a9e4728fcdd278e
COPY --from=build /out/ /
WORKDIR /app
ENV NODE_ENV=production \
    KUBEHERALD_CONFIG=/etc/kubeherald/kubeherald.yaml \
    MALLOC_ARENA_MAX=1 \
    MALLOC_MMAP_THRESHOLD_=1048576 \
    MALLOC_TRIM_THRESHOLD_=2097152
EXPOSE 9464
USER 65532:65532
# The same flags as in the bundle's first line, and above the same variables.
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=4", "--heap-growing-percent=100", "/app/main.js"]
CMD ["run"]
ARG VERSION=0.0.0-dev
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
# What kubeherald version prints.
ENV KUBEHERALD_COMMIT=$REVISION
LABEL org.opencontainers.image.title="kubeherald" \
      org.opencontainers.image.description="Forwards Kubernetes changes and Events to Slack, Kafka and webhooks, by rules in YAML, without losing any." \
      org.opencontainers.image.url="https://github.com/kubeherald/kubeherald" \
      org.opencontainers.image.source="https://github.com/kubeherald/kubeherald" \
      org.opencontainers.image.documentation="https://github.com/kubeherald/kubeherald/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="gcr.io/distroless/nodejs24-debian13:nonroot" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
