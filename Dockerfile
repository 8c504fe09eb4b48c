# krmhub as a container. The build runs no commands; it copies what `npm run package` wrote.
#
#   npm run package && podman build --format docker --tag krmhub .
#
# The base image needs `node` in its path and no shell. Use Node.js 22 or later, or 20.17 if you package with
# Node.js 20 on Linux.
ARG BASE_IMAGE=node:24-slim
FROM ${BASE_IMAGE}

# Copy what changes least first, for the layer cache.
COPY build/image/krmhub/node_modules/ /opt/krmhub/node_modules/
COPY build/image/krmhub/program/ /opt/krmhub/program/
# A new volume takes its owner and mode from here. The host has no user 10001.
COPY --chown=10001:10001 build/image/state/ /var/lib/

# Fewer malloc arenas of glibc: one for each thread costs more memory than it gains.
ENV PATH=/opt/krmhub/program/bin:${PATH} \
    MALLOC_ARENA_MAX=2 \
    KRMHUB_HOST=0.0.0.0 \
    KRMHUB_PORT=8080 \
    KRMHUB_DATA=/var/lib/krmhub
USER 10001:10001
WORKDIR /var/lib/krmhub
VOLUME /var/lib/krmhub
EXPOSE 8080
STOPSIGNAL SIGTERM

# Checks health, not readiness: some engines restart unhealthy containers, and a full disk must not stop reads.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["node", "-e", \
  "fetch(`http://127.0.0.1:${process.env.KRMHUB_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["node", "/opt/krmhub/program/bin/krmhub"]
CMD ["serve"]

ARG BASE_IMAGE
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="krmhub" \
      org.opencontainers.image.description="The registry for KRM functions" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
