/** Why a voucher cannot be redeemed, by the reason of a verification. */
export const refusalReasons: Readonly<Record<string, string>> = {
  already_redeemed: 'it is already redeemed',
  expired: 'it has expired',
  not_yet_valid: 'it is not valid yet',
  recipient_mismatch: 'it belongs to another recipient',
}
