# The app for a class, as a user without rights: `docker build -t gating .`, then
# `docker run --read-only --tmpfs /tmp -p 127.0.0.1:8501:8501 gating`.
FROM python:3.11-slim

# An index of PyTorch's small CPU builds, for instance.
ARG PIP_FLAGS=""

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp

WORKDIR /app
COPY requirements.txt requirements.lock ./
RUN pip install --no-cache-dir $PIP_FLAGS -r requirements.txt -c requirements.lock
COPY . .

RUN useradd --no-create-home --uid 10001 app
USER app

EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", \
    "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
# Within the container every address is the container's own; what the world sees is `-p`'s to say.
CMD ["streamlit", "run", "app.py", "--server.address", "0.0.0.0", "--server.headless", "true"]
