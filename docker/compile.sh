#!/bin/sh
# What torch.compile needs beyond the root filesystem: its locked packages, unpacked on their own, to be laid on top.
set -eu

root=/compiler
sh /forge/fetch.sh /forge/compile.lock /debs > /forge/more-archives
mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64" "$root/var/lib/dpkg"
for directory in bin sbin lib lib64; do ln -sfn "usr/$directory" "$root/$directory"; done
cp /rootfs/var/lib/dpkg/status "$root/var/lib/dpkg/status"

while read -r deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink --no-same-owner
    dpkg-deb --field "$deb" | sed '/^Package:/a Status: install ok installed' >> "$root/var/lib/dpkg/status"
    echo >> "$root/var/lib/dpkg/status"
done < /forge/more-archives
rm "$root/bin" "$root/sbin" "$root/lib" "$root/lib64"

# PyTorch's own links to its headers: without a compiler they are pruned.
torch=$(grep '/python3-torch_' /forge/archives)
dpkg-deb --fsys-tarfile "$torch" | tar -x -C "$root" ./usr/lib/python3/dist-packages/torch/include

grep -v include /forge/prune.txt | sed "s|^|$root/|" | xargs rm -rf
# As in rootfs.sh.
find "$root/usr/share/doc" -mindepth 2 ! -type d ! -name copyright -delete
find "$root/usr/share/doc" -type d -empty -delete
find "$root" -type f -perm /6000 -exec chmod ug-s {} +

# As the root filesystem's own modules are: compiled here, natively.
python3 -m compileall -q -s "$root" -p / --invalidation-mode unchecked-hash "$root/usr/lib/python3"
