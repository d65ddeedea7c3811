#!/bin/sh
# Runs greeksd of this folder at every login of this user, and now; --uninstall takes that away. Not for root.
set -eu

label=org.greeksd.greeksd
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
agents=$HOME/Library/LaunchAgents
agent=$agents/$label.plist
domain=gui/$(id -u)

if [ "$(id -u)" = 0 ]; then
    echo "greeksd is a user's: run this without sudo" >&2
    exit 1
fi
case ${1-} in
'' | --uninstall) ;;
*)
    echo "usage: sh service.sh [--uninstall]" >&2
    exit 2
    ;;
esac
# one that runs already is ended first; it saves its state
launchctl bootout "$domain/$label" 2> /dev/null || true
waited=0
while launchctl print "$domain/$label" > /dev/null 2>&1; do
    [ $waited -lt 20 ] || { echo "greeksd does not end: launchctl print $domain/$label" >&2; exit 1; }
    waited=$((waited + 1))
    sleep 1
done
if [ "${1-}" = --uninstall ]; then
    rm -f "$agent"
    echo "greeksd does not start any more; its state stays in ~/Library/Application Support/greeksd"
    exit 0
fi
"$here/bin/greeksd" --version > /dev/null
mkdir -p "$agents" "$HOME/Library/Logs"
# a path may have what XML and sed write otherwise
escaped() { printf '%s' "$1" | sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/[\&|]/\\&/g'; }
sed -e "s|PROGRAM|$(escaped "$here/bin/greeksd")|" -e "s|HOME/|$(escaped "$HOME")/|" -e "s|>HOME<|>$(escaped "$HOME")<|" \
    "$here/$label.plist" > "$agent"
launchctl bootstrap "$domain" "$agent"
echo "greeksd runs at every login from $here: http://127.0.0.1:2112/, log in ~/Library/Logs/greeksd.log"
