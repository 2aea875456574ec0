import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { changeProfile } from '../../config/config.js'
import { toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'

const MAX_PINS = 2

interface PinReport {
  readonly pin: string
  readonly kid: string
  /** Pins that the profile has after the command, oldest first. */
  readonly pins: readonly string[]
  readonly pinned: boolean
  readonly saved: boolean
}

export const pin = leaf({
  name: 'pin',
  summary: 'Show the pin of the server key, or store it in the profile',
  notes: [
    'A profile with pins accepts no other key: without one the transport trusts whatever key is served, and authenticates the server no better than TLS does. Compare the pin with what the operator publishes before you save it.',
    'A profile has two pins at most, for the days on which a key changes; a third one replaces the oldest.',
  ],
  flags: { save: toggle('Store it in the profile') },
  examples: ['voucherctl secure pin', 'voucherctl secure pin --save'],
  view: {
    headline: (it: PinReport) => (it.saved ? 'The profile has this pin.' : it.pinned ? 'Pinned.' : 'Not pinned.'),
    members: ['pin', 'kid', 'pins'],
    next: (it) => (it.pinned ? undefined : 'To accept no other key: `voucherctl secure pin --save`'),
  },
  run: async (context, { flags }): Promise<Outcome<PinReport>> => {
    const { describeServer, disabled, failureOf, reach } = await import('./server.js')
    const reached = await reach(context)
    if (!reached.ok) return reached
    const { baseUrl } = reached.server
    if (context.dryRun) return context.plan(`ask ${baseUrl} for its key${flags.save ? ' and keep the pin' : ''}`)
    const described = await describeServer(reached.server, context.host.now, [])
    if (!described.ok) return failureOf(described)
    if (!('offset' in described)) return failureOf(disabled())
    const { kid, pin: shown } = described.bootstrap
    const pins = context.settings.secure.pins.value
    if (!flags.save) {
      return { ok: true, data: { pin: shown, kid, pins, pinned: pins.includes(shown), saved: false } }
    }
    return save(context, shown, kid)
  },
})

async function save({ host, settings, output }: Context, shown: string, kid: string): Promise<Outcome<PinReport>> {
  let newPins: readonly string[] = []
  let dropped: string | undefined
  const problem = await changeProfile(host, settings.profileName.value, (before) => {
    const own = before.secure?.pins ?? []
    const all = own.includes(shown) ? own : [...own, shown]
    newPins = all.slice(-MAX_PINS)
    dropped = all.length > MAX_PINS ? all[0] : undefined
    return { ...before, secure: { ...before.secure, pins: newPins } }
  })
  if (problem !== undefined) return problem
  if (dropped !== undefined) output.notice(`note: it replaces the oldest pin, ${dropped}`)
  return { ok: true, data: { pin: shown, kid, pins: newPins, pinned: true, saved: true } }
}
