# Completion of voucherctl for bash. Made from the command tree: voucherctl completion bash

_voucherctl_commands() {
  case $1 in
    '') REPLY='quickstart doctor login logout whoami profiles apps tokens templates vouchers bots webhook secure conform prove load server open platform api scenario mcp evidence explain commands completion help' ;;
    'profiles'|'profile') REPLY='list use show set remove' ;;
    'apps'|'app') REPLY='list create get update link-bot unlink-bot' ;;
    'tokens'|'token') REPLY='list create revoke' ;;
    'templates'|'template') REPLY='list get create submit apply diff init' ;;
    'vouchers'|'voucher') REPLY='issue issue-many verify-many redeem-many reverse-many sheet verify redeem redemption reverse' ;;
    'bots'|'bot') REPLY='list apply get update regenerate-token metrics send updates' ;;
    'webhook'|'webhooks') REPLY='set delete info deliveries retry listen inbox replay trigger sign verify' ;;
    'webhook inbox'|'webhooks inbox') REPLY='list show clear' ;;
    'secure') REPLY='bootstrap session call check pin' ;;
    'server'|'servers') REPLY='start list env status stop logs keys openapi migrate export import' ;;
    'server keys'|'server key'|'servers keys'|'servers key') REPLY='list rotate' ;;
    'platform') REPLY='reviews find templates bots apps users chats vouchers deliveries totals clock faults activity snapshots reset' ;;
    'platform templates'|'platform template') REPLY='list show approve reject' ;;
    'platform bots'|'platform bot') REPLY='list approve reject disable enable add-update' ;;
    'platform apps'|'platform app') REPLY='list suspend reinstate features' ;;
    'platform users'|'platform user') REPLY='start send block unblock' ;;
    'platform chats'|'platform chat') REPLY='list messages' ;;
    'platform vouchers'|'platform voucher') REPLY='list show' ;;
    'platform deliveries'|'platform delivery') REPLY='list show replay' ;;
    'platform clock') REPLY='show set advance forecast' ;;
    'platform faults'|'platform fault') REPLY='list add release remove clear' ;;
    'platform snapshots'|'platform snapshot') REPLY='list save restore remove' ;;
    'scenario'|'scenarios') REPLY='run init record' ;;
    'mcp') REPLY='serve install tools' ;;
    'completion') REPLY='bash zsh fish powershell install uninstall' ;;
    *) REPLY='' ;;
  esac
}

_voucherctl() {
  local IFS=$' \t\n' REPLY word kind program=voucherctl
  COMPREPLY=()
  _voucherctl_commands "${COMP_WORDS[*]:1:COMP_CWORD-1}"
  for word in $REPLY; do
    [[ $word == "$2"* ]] && COMPREPLY+=("$word")
  done
  [[ ${#COMPREPLY[@]} -gt 0 ]] && return

  # Call the program by the typed path, if there is one.
  [[ ${COMP_WORDS[0]} == */* && -x ${COMP_WORDS[0]} ]] && program=${COMP_WORDS[0]}
  {
    IFS= read -r kind
    while IFS=$'\t' read -r word _; do COMPREPLY+=("$word"); done
  } < <(command "$program" __complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
  case $kind in
    words) compopt -o nosort 2>/dev/null ;;
    files) compopt -o default 2>/dev/null || _voucherctl_paths -f "$2" ;;
    folders) compopt -o dirnames 2>/dev/null || _voucherctl_paths -d "$2" ;;
  esac
  return 0
}

# Where compopt is missing.
_voucherctl_paths() {
  local path
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$2")
}

complete -F _voucherctl voucherctl
