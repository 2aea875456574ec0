import { didYouMean } from '../../values/closest.js'
import { one, type ParseResult } from '../flags/flags.js'

export const operations = ['issue', 'verify', 'redeem'] as const
export type Operation = (typeof operations)[number]

/** Share of each operation in percent; 0 for an operation without calls. */
export type Mix = Readonly<Record<Operation, number>>

export const isOperation = (text: string): text is Operation => operations.some((it) => it === text)

/** Parses shares such as `issue=30,verify=50,redeem=20`. */
export function parseMix(text: string): ParseResult<Mix> {
  const mix: Record<Operation, number> = { issue: 0, verify: 0, redeem: 0 }
  for (const part of text.split(',')) {
    const [name = '', share = '', ...more] = part.split('=')
    if (!isOperation(name)) {
      return wrong(`must name ${operations.join(', ')}, not "${name}"`, didYouMean(name, operations, undefined))
    }
    if (mix[name] !== 0) return wrong(`names ${name} twice`)
    if (!/^\d{1,3}$/.test(share) || Number(share) === 0 || more.length > 0) {
      return wrong(`needs a whole number of percent above 0 for ${name}, such as ${name}=30`)
    }
    mix[name] = Number(share)
  }
  const sum = mix.issue + mix.verify + mix.redeem
  return sum === 100 ? { ok: true, value: mix } : wrong(`must add up to 100, not ${sum}`)
}

const wrong = (message: string, hint?: string) => ({ ok: false, message, hint }) as const

export const mixFlag = (summary: string) => one('OP=PERCENT,…', summary, parseMix)
