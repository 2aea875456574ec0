import { kindNotFound, kindOfId, recordKinds } from '../../contract/record-kinds.js'
import { redactCode } from '../../contract/secrets.js'
import { asMembers } from '../../values/json.js'

/** Describes the id that was not found, and the kind of resource if the prefix belongs to another kind. */
export function missingId(code: string, input: Readonly<Record<string, unknown>>): string | undefined {
  if (code === 'VOUCHER_NOT_FOUND' && input.credential !== undefined) return missingCode(input.credential)
  const expected = kindNotFound(code)
  const id = expected?.members.map((it) => input[it]).find((it) => typeof it === 'string' && it !== '')
  if (expected === undefined || typeof id !== 'string') return undefined
  const given = kindOfId(id)
  // A voucher is found by the id of a redemption too.
  const isAccepted = given === expected || (code === 'VOUCHER_NOT_FOUND' && given === recordKinds.redemptions)
  return given === undefined || isAccepted
    ? `not found: ${id}`
    : `${id} is the id of ${given.noun}; an id of ${expected.noun} begins with ${expected.prefix}_.`
}

/** Says which kind of id stands in place of a code. Does not repeat the id, because output hides typed codes. */
export function idAsCode(credential: unknown): string | undefined {
  const { value } = asMembers(credential) ?? {}
  if (typeof value !== 'string') return undefined
  const kind = kindOfId(value)
  return kind && `${kind.prefix}_… is the id of ${kind.noun}, not a code.`
}

function missingCode(credential: unknown): string | undefined {
  const { type, value } = asMembers(credential) ?? {}
  if (typeof value !== 'string') return undefined
  return idAsCode(credential) ?? `not found: ${type === 'qr_token' ? 'QR token' : 'code'} ${redactCode(value)}`
}
