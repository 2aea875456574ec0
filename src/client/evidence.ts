import type { Endpoint, Evidence } from '../contract/endpoint.js'
import { evidenceOf } from '../contract/endpoint.js'
import { credentialTypes } from '../contract/vouchers.js'
import { asMembers, type Members } from '../secure/json.js'

/** Describes the first required member that `data` lacks or that does not match; undefined if `data` is a success. */
export function findMismatch(
  endpoint: Pick<Endpoint, 'output' | 'evidence'>,
  input: Members,
  data: unknown,
): string | undefined {
  const members = asMembers(data) ?? {}
  for (const [name, evidence] of Object.entries(evidenceOf(endpoint))) {
    const value = Object.hasOwn(members, name) ? members[name] : undefined
    if (value === undefined) return `data.${name} is missing`
    const expected = expectedOf(evidence, input)
    if (!fits(value, expected)) return `data.${name} is not ${describe(evidence, expected)}`
  }
  return undefined
}

/** Resolves an input member to the value sent; any text matches if the call does not know the input by name. */
function expectedOf(evidence: Evidence, input: Members): Exclude<Evidence, { input: string }> {
  if (typeof evidence === 'string' || 'value' in evidence) return evidence
  const sent = input[evidence.input]
  return typeof sent === 'string' ? { value: sent } : 'text'
}

function fits(value: unknown, expected: ReturnType<typeof expectedOf>): boolean {
  if (typeof expected === 'object') return value === expected.value
  switch (expected) {
    case 'text':
      return isText(value)
    case 'boolean':
      return typeof value === 'boolean'
    case 'list':
      return Array.isArray(value)
    case 'credentials':
      return Array.isArray(value) && value.some(isCredential)
  }
}

/** A voucher with neither a redeem code nor a QR token cannot be redeemed: a row without both is not issued. */
const isCredential = (it: Members | null) => credentialTypes.some((type) => type === it?.type) && isText(it?.value)

const isText = (value: unknown) => typeof value === 'string' && value !== ''

/** Describes the expected value without quoting the input, which may be a secret of the caller. */
function describe(evidence: Evidence, expected: ReturnType<typeof expectedOf>): string {
  if (typeof evidence === 'object' && 'input' in evidence && typeof expected === 'object') {
    return `the ${evidence.input} that was sent`
  }
  if (typeof expected === 'object') return `"${expected.value}"`
  return {
    text: 'a text',
    boolean: 'true or false',
    list: 'a list',
    credentials: 'a list with a redeem code or QR token',
  }[expected]
}
