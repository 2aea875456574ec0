import { Badge, type Choices, type Tone } from '../components.js'
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

/** Choices of a field that filters by state. */
export const stateChoices = (states: readonly string[]): Choices => states.map((it) => [it, wordsOf(it)])
