import { platformVouchers } from '../../contract/platform/voucher-history.js'
import { kindOfId } from '../../contract/record-kinds.js'
import { type Credential, type Voucher, vouchers } from '../../contract/vouchers.js'
import type { Context, Ok } from '../command/context.js'
import { type Failure, suggested, usage } from '../failures/failure.js'
import { credentialOf, readTyped } from './credential-input.js'

type Flags = Parameters<typeof readTyped>[2]

/** A voucher as the user names it: by its id or that of its redemption, by its own id, or by a code. */
type NamedVoucher = { readonly id: string } | { readonly externalId: string } | { readonly credential: Credential }

/** Reads what names a voucher, from the argument or a flag, from stdin, or from a prompt. */
export async function readVoucher(
  context: Context,
  operand: string | undefined,
  flags: Flags,
): Promise<Ok<NamedVoucher> | Failure> {
  const typed = await readTyped(context, operand, flags, 'Id, redeem code or QR data', 'ID|CODE')
  if (!typed.ok) return typed
  if (flags['external-id'] !== undefined) return { ok: true, value: { externalId: typed.value } }
  const isId = kindOfId(typed.value) !== undefined && (flags.code ?? flags['qr-token']) === undefined
  // Redemption ids of another platform may look like codes, so they need a flag.
  if (isId || flags.redemption !== undefined) return { ok: true, value: { id: typed.value } }
  const credential = credentialOf(context, typed.value, flags)
  if (credential.ok) return { ok: true, value: { credential: credential.value } }
  return { ...credential, hint: `${credential.hint} An external id, such as an order number, goes with --external-id.` }
}

/**
 * Finds the only voucher, or the only redemption, of an external id on a local server: the interface has no such call.
 * @param member the id to return
 */
export async function idByExternalId(
  { lookUp }: Context,
  externalId: string,
  member: 'id' | 'redemptionId',
): Promise<Ok<string> | Failure> {
  const listed = await lookUp(platformVouchers.vouchers, { external_issue_id: externalId, limit: 100 })
  if (!listed.ok) {
    const why = 'Only the operator of a local server finds vouchers by external id; elsewhere pass an id or a code.'
    return { ...listed, about: [...(listed.about ?? []), why] }
  }
  const [id, ...others] = listed.data.items.flatMap((it) => it[member] ?? [])
  const all = [id, ...others].join(', ')
  if (others.length > 0) return usage(`Several vouchers have the external id ${externalId}: ${all}.`, 'Pass an id.')
  if (id !== undefined) return { ok: true, value: id }
  const message = `No ${listed.data.items.length === 0 ? '' : 'redeemed '}voucher has the external id ${externalId}.`
  return { ...usage(message, 'All of this server: `voucherctl platform vouchers list`.'), code: 'VOUCHER_NOT_FOUND' }
}

/** Finds the id of the redemption to reverse. A code is sent in the body of a call, never in a path. */
export async function findRedemption(
  context: Context,
  operand: string | undefined,
  flags: Flags,
): Promise<Ok<string> | Failure> {
  const read = await readVoucher(context, operand, flags)
  if (!read.ok) return read
  if ('id' in read.value) return { ok: true, value: read.value.id }
  if ('externalId' in read.value) return idByExternalId(context, read.value.externalId, 'redemptionId')
  const verified = await context.call(vouchers.verify, read.value)
  if ('plan' in verified) {
    context.plan('take the redemption of that voucher')
    return { ok: true, value: 'REDEMPTION_ID' }
  }
  if (!verified.ok) {
    const why =
      'This call looks for the redemption of a code. An id needs none; one like a code goes with --redemption.'
    return { ...verified, about: [...(verified.about ?? []), why] }
  }
  // Another platform may leave members out.
  const { id, redemptionId, status }: Partial<Voucher> = verified.data.voucher ?? {}
  if (typeof redemptionId === 'string') return { ok: true, value: redemptionId }
  const message = `The voucher of this code has no redemption to reverse; its status is ${status ?? 'unknown'}.`
  const hint = id ? `Its history, on a local server: ${suggested`platform vouchers show ${id}`}.` : null
  return { ...usage(message, hint), code: 'REDEMPTION_NOT_FOUND' }
}
