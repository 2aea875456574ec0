import { type UpdateType, updateTypes } from '../../../contract/updates.js'
import { asMembers, parseJson } from '../../../values/json.js'
import { withoutContentLength } from '../../../workbench/header-pairs.js'
import type { StoredDelivery } from '../../../workbench/inbox.js'
import { applyOverride, type Override, readOverride } from '../../../workbench/synthetic.js'
import type { Ok } from '../../command/context.js'
import { type Failure, fail, usage } from '../../failures/failure.js'

/** Applies `--set path=value` to a recorded update; without a change it returns the recorded bytes. */
export function changedDelivery(stored: StoredDelivery, texts: readonly string[]): Ok<StoredDelivery> | Failure {
  if (texts.length === 0) return { ok: true, value: stored }
  const update = asMembers(parseJson(stored.body.toString('utf8')))
  const type = updateTypes.find((it) => it === update?.type)
  if (update === undefined || type === undefined)
    return fail('INVALID_INPUT', `${stored.id} is not an update of a known type, so --set cannot change it.`)
  const overrides = overridesOf(type, texts)
  if (!overrides.ok) return overrides
  const changed = structuredClone(update) as Record<string, unknown>
  for (const it of overrides.value) applyOverride(changed, it)
  const body = Buffer.from(JSON.stringify(changed))
  const update_id = typeof changed.update_id === 'number' ? String(changed.update_id) : stored.update_id
  return { ok: true, value: { ...stored, headers: withoutContentLength(stored.headers), body, update_id } }
}

/** Reads the values of `--set`. @param type undefined for a command without an update to change */
export function overridesOf(type: UpdateType | undefined, texts: readonly string[]): Ok<readonly Override[]> | Failure {
  const overrides: Override[] = []
  for (const it of texts) {
    const at = it.indexOf('=')
    if (at < 1 || type === undefined) return usage(`--set must be path=value, got ${JSON.stringify(it)}.`)
    const read = readOverride(type, it.slice(0, at), it.slice(at + 1))
    if (!read.ok) return usage(`--set: ${read.message}`, read.hint)
    overrides.push(read.override)
  }
  return { ok: true, value: overrides }
}
