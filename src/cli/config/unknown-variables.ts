import { closest } from '../../values/closest.js'
import type { Host } from '../host/host.js'

/** Variables that commands read or set, without `VOUCHERCTL_`. */
const names =
  'TOKEN JWT BOT_TOKEN OPERATOR_KEY WEBHOOK_SECRET BASE_URL PROFILE CONFIG_DIR OUTPUT SECURE ORIGIN DATABASE_URL COMPLETION_TIMEOUT TEMPLATE_ID CODE RECIPIENT CHAT_ID PROVE PROVE_RUN DETACHED_LOG COMPLETE_WORDS'
const known = names.split(' ')

/** Describes each variable that begins with VOUCHERCTL_ but that no command reads, because it may be mistyped. */
export function unknownVariables({ env }: Pick<Host, 'env'>, group = ''): readonly string[] {
  // Scenarios and programs that these groups run may use variables of any name.
  if (['scenario', 'mcp', 'prove'].includes(group)) return []
  return Object.keys(env).flatMap((variable) => {
    const [, name] = /^VOUCHERCTL_(.+)/.exec(variable) ?? []
    if (name === undefined || known.includes(name)) return []
    const near = closest(name, known)
    return `${variable} is not a variable that voucherctl reads. ${near ? `Did you mean VOUCHERCTL_${near}?` : '`voucherctl help environment` lists them.'}`
  })
}
