import { NO_SESSION, NOT_PROVED, sessionEnded } from './api.js'
import { Copied } from './components.js'
import { dateTime } from './model/format.js'
import { BASE } from './router.js'
import { features, serverNow, source } from './state.js'
import { goneSince, standing } from './trust.js'

/** Why this tab does nothing or waits, with the command that helps. */
export function Ended() {
  const [reason, command] = reasonOf()
  return reason ? (
    <p class="ended" role="alert">
      {reason} {command && <Copied text={command} />}
    </p>
  ) : null
}

function reasonOf(): readonly [reason?: string, command?: string | null] {
  if (sessionEnded.value) return [`${NO_SESSION} This command opens one that has it:`, openCommand()]
  if (standing.value === 'stranger') return [NOT_PROVED, openCommand()]
  if (goneSince.value === null || !features.value) return []
  const { start_command: start, keeps_sessions: continues } = features.value
  const at = dateTime(new Date(goneSince.value - Date.now() + serverNow()).toISOString())
  const next = continues ? 'this tab then continues' : 'open its page in a new tab then'
  return [`No server responds here since ${at}. Start it again, and ${next}${start ? ':' : '.'}`, start]
}

/** No shell changes this text between double quotes. A website may have chosen the address. */
const PLAIN = /^(?:[\w./?=&,:+-]|%[\da-f]{2})+$/i

/** The command that opens the view of this address in a tab with a session. */
function openCommand(): string {
  if ((features.value?.source ?? source.value) === 'listener') return 'voucherctl webhook listen --open'
  const view = location.pathname.slice(BASE.length) + location.search
  return `voucherctl open "${PLAIN.test(view) ? view : '/'}" --base-url ${location.origin}`
}
