#!/bin/sh
# An MCP server that costs next to nothing to start, for cycles by the thousand. It starts a child of its own. Its tools: `pid`
# gives its process group, `crash` ends it.
sleep 100000 >/dev/null 2>&1 &
while read -r line; do
  id=${line##*\"id\":}
  id=${id%%[!0-9]*}
  case $line in
  *'"method":"initialize"'*)
    result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}'
    ;;
  *'"method":"notifications/'*) continue ;;
  *'"method":"tools/list"'*)
    result='{"tools":[{"name":"pid","inputSchema":{"type":"object"}},{"name":"crash","inputSchema":{"type":"object"}}]}'
    ;;
  *'"name":"pid"'*) result="{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"pid\\\":$$}\"}]}" ;;
  *'"name":"crash"'*) exit 9 ;;
  *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
