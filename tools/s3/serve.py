"""An S3 server on loopback while a command runs: python tools/s3/serve.py COMMAND [ARGUMENT...].

The command finds the address of an empty bucket in TORCHFORGE_TEST_S3. Its exit status becomes that of this program.
"""

import logging
import os
import subprocess
import sys

import boto3
from moto.server import ThreadedMotoServer

BUCKET = "datasets"


def main(*command: str) -> int:
    """Make the bucket, which shows that the server answers; run the command; stop the server."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # no line for each request
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        client = boto3.client(
            "s3",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",  # noqa: S106 - the server takes any
        )
        client.create_bucket(Bucket=BUCKET)
        environment = os.environ | {"TORCHFORGE_TEST_S3": f"{url}/{BUCKET}"}
        return subprocess.run(command, env=environment, check=False).returncode
    finally:
        server.stop()


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
