# mockserver in a container: docker build -t llm-mockserver . && docker run --rm -p 127.0.0.1:8000:8000 llm-mockserver
# Arguments after the image's name are options of `mockserver serve`; --entrypoint mockserver makes them any command.

ARG BASE=python:3.13-slim

FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
COPY pyproject.toml README.md LICENSE llm_mockserver_pytest.py ./
COPY mockserver ./mockserver
RUN python -m venv --without-pip /opt/mockserver \
 && python -m pip --python /opt/mockserver/bin/python install --quiet ".[tls,record]"

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="mockserver" \
      org.opencontainers.image.description="A simulator of LLM inference APIs for offline testing" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# This stage installs and builds nothing. Only /certs is writable, a mount point for `mockserver certs --out /certs`.
RUN python -m pip uninstall --quiet --yes --root-user-action ignore pip setuptools wheel \
 && rm -rf /usr/local/bin/pip* /usr/local/lib/python3*/ensurepip \
 && echo "mockserver:x:10001:" >> /etc/group \
 && echo "mockserver:x:10001:10001::/nonexistent:/sbin/nologin" >> /etc/passwd \
 && mkdir /certs && chown 10001:10001 /certs
COPY --from=build /opt/mockserver /opt/mockserver
ENV PATH=/opt/mockserver/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --start-interval=200ms --retries=3 \
    CMD ["mockserver", "health"]
ENTRYPOINT ["mockserver", "serve", "--host", "0.0.0.0"]
