import { Badge, type Tone } from '../components.js'
import { wordsOf } from './members.js'

/** Tones of special states of vouchers, deliveries and templates. */
const tones: Readonly<Record<string, Tone>> = {
  issued: 'note',
  redeemed: 'good',
  expired: 'bad',
  pending: 'note',
  delivering: 'note',
  delivered: 'good',
  failed: 'warn',
  dead_letter: 'bad',
  reviewing: 'note',
  active: 'good',
  rejected: 'bad',
  approved: 'good',
  disabled: 'bad',
}

export function StateBadge({ status }: { readonly status: string }) {
  return <Badge tone={tones[status] ?? 'plain'}>{wordsOf(status)}</Badge>
}

/** Options of a select field that filters by state. */
export const stateOptions = (states: readonly string[]) => (
  <>
    <option value="">Any</option>
    {states.map((state) => (
      <option value={state}>{wordsOf(state)}</option>
    ))}
  </>
)
