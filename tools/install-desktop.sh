#!/bin/sh
# Installs the Debian packages of the desktop sandbox, and the data of the fast OCR engine; does nothing where
# all of them are there. What is added to `packages` is added to src/pyrite/sandbox/Dockerfile too.
set -eu

packages="bubblewrap xvfb openbox x11-xkb-utils dbus xterm mousepad pcmanfm
git sqlite3 chromium python3 zip unzip dconf-service dconf-gsettings-backend
libreoffice-calc libreoffice-writer libreoffice-gtk3 fonts-liberation fonts-dejavu-core fontconfig perl-base zstd"
reading="tesseract-ocr-eng"

if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
    echo "install-desktop: this system has no apt-get; the desktop sandbox is made for Debian and Ubuntu." >&2
    echo "Install the equivalents of: $(echo $packages $reading)" >&2
    echo "then see what is still missing with: pyrite doctor" >&2
    exit 4
fi

missing=""
for package in $packages $reading; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
    echo "install-desktop: all packages are installed."
    exit 0
fi

root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "install-desktop: run this as root, there is no sudo here. Missing:$missing" >&2
        exit 4
    fi
    root="sudo"
fi

echo "install-desktop: installing$missing"
lock="-o DPkg::Lock::Timeout=500"
$root apt-get $lock -qq update
# shellcheck disable=SC2086  # the lists are words on purpose
$root env DEBIAN_FRONTEND=noninteractive apt-get $lock -qq -y --no-install-recommends install $missing
echo "install-desktop: done; see what this machine can do with: pyrite doctor"
