umask 077;
echo "narrows-ssh $(uname -s) $(uname -m) ${SSH_CONNECTION:-unknown}";
IFS= read -r key || exit 1;
IFS= read -r sum || exit 1;
IFS= read -r meets || exit 1;
n=$(command -v narrows 2>/dev/null);
if [ -n "$n" ] && [ "$(b2sum <"$n" 2>/dev/null | cut -d" " -f1)" = "$sum" ]; then echo narrows-have;
else
  echo narrows-need;
  IFS= read -r size || exit 1;
  d=$(mktemp -d "${TMPDIR:-/tmp}/narrows.XXXXXX") || exit 1;
  trap "rm -rf \"$d\"" 0;
  trap "" 1 2 13 15;
  n=$d/narrows;
  head -c "$size" >"$n" && chmod 755 "$n" || exit 1;
fi;
NARROWS_KEY=$key "$n" serve --port PORT $meets --until-closed 30
