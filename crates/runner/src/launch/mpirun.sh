exec 2>&1;
IFS= read -r NARROWS_KEY || exit 1;
export NARROWS_KEY;
"$0" serve --port "$1" --peers "$2" --until-closed 30;
echo "narrows-ended $?"
