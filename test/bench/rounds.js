import { format } from './report.js'

/**
 * Measures parts alternately: every second round in reverse. The first round warms up and does not count.
 * @param prepare gets the number of a round and returns its parts, each of which returns samples by name
 * @returns the median of a member of the samples with a name
 */
export async function alternate({ rounds, say }, prepare) {
  const samples = {}
  for (let round = 0; round <= rounds; round++) {
    const parts = await prepare(round)
    const measured = {}
    for (const part of round % 2 === 0 ? parts : parts.toReversed()) Object.assign(measured, await part())
    say(`${round === 0 ? 'warm-up' : `round ${round}`}: ${Object.entries(measured).map(shown).join('; ')}`)
    if (round > 0) for (const [name, sample] of Object.entries(measured)) (samples[name] ??= []).push(sample)
  }
  return (name, member = 'perSecond') => median(samples[name].map((it) => it[member]))
}

const shown = ([name, sample]) =>
  `${name} ${Object.entries(sample)
    .map(([member, value]) => `${member} ${format(value)}`)
    .join(' ')}`

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
