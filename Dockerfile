# krmhub as a container. Nothing is run while it is built: `npm run package` lays out what is copied in.
#
#   npm run package && podman build --format docker --tag krmhub .
#
# The base is any image with Node.js 20.17 or later as `node` in its path. It needs no shell. A tree packaged with
# Node.js 20 on Linux runs on 20 too; others need 22 or later.
ARG BASE_IMAGE=node:24-slim
FROM ${BASE_IMAGE}

# What changes least comes first.
COPY build/image/krmhub/node_modules/ /opt/krmhub/node_modules/
COPY build/image/krmhub/program/ /opt/krmhub/program/
# A new volume takes owner and mode from here. 10001 is nobody's account on the host.
COPY --chown=10001:10001 build/image/state/ /var/lib/

# The C library of Debian and its like keeps memory apart for each thread, which costs more than it gains here.
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

# Whether it answers, not whether it is ready: some restart what is unhealthy, and a full disk must not end reading.
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
