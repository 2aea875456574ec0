import { credentialTypes, type Endpoint, type Evidence, evidenceOf } from '../contract/endpoint.js'
import { asMembers, type Members } from '../values/json.js'

/** Describes the first required member that `data` lacks or whose value is wrong; undefined if `data` is a success. */
export function findMismatch(
  endpoint: Pick<Endpoint, 'output' | 'evidence'>,
  input: Members,
  data: unknown,
): string | undefined {
  const members = asMembers(data) ?? {}
  for (const [name, evidence] of Object.entries(evidenceOf(endpoint))) {
    const value = Object.hasOwn(members, name) ? members[name] : undefined
    if (value === undefined) return `data.${name} is missing`
    const { form, fits } = expectationOf(evidence, input)
    if (!fits(value)) return `data.${name} is not ${form}`
  }
  return undefined
}

interface Expectation {
  /** Describes the expected value without quoting the call's input, which may be a secret. */
  readonly form: string
  fits(value: unknown): boolean
}

/** The value that a response member must have; any text if the call's input has no such member. */
function expectationOf(evidence: Evidence, input: Members): Expectation {
  if (typeof evidence === 'string') return expectations[evidence]
  if ('value' in evidence) return { form: `"${evidence.value}"`, fits: (it) => it === evidence.value }
  const sent = input[evidence.input]
  if (typeof sent !== 'string') return expectations.text
  return { form: `the ${evidence.input} that was sent`, fits: (it) => it === sent }
}

const isText = (value: unknown) => typeof value === 'string' && value !== ''

/** True for a redeem code or a QR token. A voucher with neither cannot be redeemed, so its response is no success. */
const isCredential = (it: Members | null) => credentialTypes.some((type) => type === it?.type) && isText(it?.value)

const expectations: Readonly<Record<Extract<Evidence, string>, Expectation>> = {
  text: { form: 'a text', fits: isText },
  boolean: { form: 'true or false', fits: (it) => typeof it === 'boolean' },
  list: { form: 'a list', fits: Array.isArray },
  credentials: {
    form: 'a list with a redeem code or QR token',
    fits: (it) => Array.isArray(it) && it.some(isCredential),
  },
}
