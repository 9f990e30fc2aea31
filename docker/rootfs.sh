#!/bin/sh
# The target's root filesystem, assembled from the locked packages without running one of its binaries: unpacked by
# dpkg-deb, configured by hand.
set -eu

root=/rootfs
mkdir -p "$root"
sh /forge/fetch.sh /forge/image.lock /debs > /forge/archives

# Before anything is unpacked: base-files has the merged /usr as links, and every archive follows them.
mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64" "$root/var/lib/dpkg"
for directory in bin sbin lib lib64; do ln -sfn "usr/$directory" "$root/$directory"; done

while read -r deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink --no-same-owner
    # A real status file: what reads an image's packages reads this one.
    dpkg-deb --field "$deb" | sed '/^Package:/a Status: install ok installed' >> "$root/var/lib/dpkg/status"
    echo >> "$root/var/lib/dpkg/status"
done < /forge/archives

# What maintainer scripts would have done.
libraries="$root/usr/lib/$(dpkg-architecture -a"$TARGETARCH" -qDEB_HOST_MULTIARCH 2>/dev/null \
    || ls "$root/usr/lib" | grep -- -linux-gnu | head -n 1)"
ln -sf openblas-pthread/libblas.so.3 "$libraries/libblas.so.3"
ln -sf openblas-pthread/liblapack.so.3 "$libraries/liblapack.so.3"
ln -sf openblas-pthread/libopenblas.so.0 "$libraries/libopenblas.so.0"
[ -e "$root/usr/bin/sh" ] || ln -s dash "$root/usr/bin/sh"

mkdir -p "$root/etc" "$root/tmp" "$root/var/tmp" "$root/inputs" "$root/outputs" "$root/results" "$root/opt/forge-bench"
chmod 1777 "$root/tmp" "$root/var/tmp"
printf 'root:x:0:0:root:/:/usr/sbin/nologin\nforge:x:65532:65532:forge:/:/usr/sbin/nologin\n' > "$root/etc/passwd"
printf 'root:x:0:\nforge:x:65532:\n' > "$root/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files dns\n' > "$root/etc/nsswitch.conf"
chown 65532:65532 "$root/inputs" "$root/outputs" "$root/results"

sed "s|^|$root/|" /forge/prune.txt | xargs rm -rf
# Of the documentation stays what who passes an image on has to pass on with it: each package's copyright.
find "$root/usr/share/doc" -mindepth 2 ! -type d ! -name copyright -delete
find "$root/usr/share/doc" -type d -empty -delete
# Among PyTorch's own tests lies one program that it looks for when it is imported.
find "$root/usr/lib/python3/dist-packages/torch/bin" -type f ! -name torch_shm_manager -delete
rm -rf "$root/etc/ssl" "$root/usr/lib/ssl" "$root/var/cache" "$root/var/log" "$root/usr/share/ca-certificates" "$libraries/gconv" \
    "$root/etc/apt" "$root/var/lib/apt"

# Nobody becomes somebody else in here.
find "$root" -type f -perm /6000 -exec chmod ug-s {} +

# The pins, as far as files can tell; the first launch of the image verifies them by execution.
check() {
    if [ "$2" != "$3" ]; then
        echo "forge-bench: pin mismatch: $1 is $2, pinned $3" >&2
        exit 1
    fi
}
python_package=$(sed -n '/^Package: python3\.[0-9]*$/,/^$/s/^Version: \([0-9.]*\).*/\1/p' "$root/var/lib/dpkg/status" | head -n 1)
check python "$python_package" "$PYTHON"
torch_version=$(sed -n "s/^__version__ = '\([0-9.]*\).*/\1/p" "$root/usr/lib/python3/dist-packages/torch/version.py")
check pytorch "$torch_version" "$PYTORCH"

# Compiled here, natively: importing torch from sources under emulation takes minutes.
native_python=$(python3 -c 'import platform; print(platform.python_version())')
check "python of the tools stage" "$native_python" "$PYTHON"
find "$root" -name __pycache__ -prune -exec rm -r {} +
python3 -m compileall -q -j 0 -s "$root" -p / --invalidation-mode unchecked-hash \
    -x '/(lib2to3|test)/|bad_coding|badsyntax' "$root/usr/lib/python3" "$root/usr/lib/python${PYTHON%.*}"
