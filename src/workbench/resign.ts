import { signWebhook, webhookHeaders } from '../webhook/signature.js'
import { pairsOf } from './header-pairs.js'
import type { RecordedDelivery } from './inbox/lines.js'

/**
 * The headers of a recorded delivery with another signature and time: in the places of the old ones, each once, and at
 * the end what was missing. Undefined when nothing tells its update_id.
 * @param timestamp Unix seconds
 */
export function resign(
  { headers, body, update_id }: Pick<RecordedDelivery, 'headers' | 'body' | 'update_id'>,
  secret: string,
  timestamp: number,
): string[] | undefined {
  const pairs = pairsOf(headers)
  const header = pairs.find(([name]) => name.toLowerCase() === webhookHeaders.updateId.toLowerCase())?.[1]
  const updateId = update_id ?? header
  if (updateId === undefined || !/^\d+$/.test(updateId)) return undefined
  const signed = new Map(
    Object.entries(signWebhook({ rawBody: body, secrets: [secret], timestamp, updateId })).map(([name, value]) => [
      name.toLowerCase(),
      { name, value },
    ]),
  )
  const written = new Set<string>()
  const kept = pairs.flatMap(([name, value]): string[] => {
    const key = name.toLowerCase()
    const fresh = signed.get(key)
    if (fresh === undefined) return [name, value]
    if (written.has(key)) return []
    written.add(key)
    return [name, fresh.value]
  })
  for (const [key, { name, value }] of signed) if (!written.has(key)) kept.push(name, value)
  return kept
}
