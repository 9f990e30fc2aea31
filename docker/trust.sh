# Sourced by the other scripts. A host behind its own certificate authority passes its bundle as the build secret
# "ca"; on the ordinary internet there is none, and Debian's own bundle serves. Neither gets into an image.
if [ -s /run/secrets/ca ]; then
    SSL_CERT_FILE=/run/secrets/ca
else
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
fi
export SSL_CERT_FILE PIP_CERT="$SSL_CERT_FILE" CARGO_HTTP_CAINFO="$SSL_CERT_FILE"
