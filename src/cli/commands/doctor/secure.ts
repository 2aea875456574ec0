import { bootstrapRequest, readBootstrap } from '../../../secure/client/negotiation.js'
import type { Context } from '../../command/context.js'
import { ask } from './ask.js'
import type { Check } from './check.js'
import { bad, ok, skip } from './check.js'

const name = 'encrypted transport'

/** Whether the server offers it, with a key that the pins know. */
export async function checkSecure(context: Context, baseUrl: string | undefined): Promise<Check> {
  if (baseUrl === undefined) return skip(name, 'No server to ask.')
  const { mode, pins } = context.settings.secure
  const isWanted = mode.value !== 'off'
  const answer = await ask(context, baseUrl, bootstrapRequest.path)
  if (!answer.ok) return bad(name, `${answer.message}.`, 'Check what stands between.')
  const { response } = answer
  if (response.status === 404 && !isWanted) return skip(name, 'The server does not offer it.')
  const bootstrap = readBootstrap(response, pins.value)
  if (!bootstrap.ok) {
    const isMismatch = bootstrap.code === 'SECURE_PIN_MISMATCH'
    const fix = isMismatch
      ? 'Ask the operator for the pin of the current key; `voucherctl secure pin` shows the one that is served.'
      : '`voucherctl secure check` walks through the protocol step by step.'
    return bad(name, `${bootstrap.message} (${bootstrap.code})`, fix)
  }
  if (!bootstrap.enabled) {
    const message = 'The server has it switched off'
    return mode.value === 'required'
      ? bad(name, `${message}, and ${mode.source} requires it.`, 'Use --secure off, if plain text is acceptable.')
      : ok(name, `${message}.`)
  }
  const pinned = pins.value.length === 0 ? 'not pinned' : 'pinned'
  return ok(name, `Offered, key ${bootstrap.kid} ${pinned}; mode ${mode.value}.`)
}
