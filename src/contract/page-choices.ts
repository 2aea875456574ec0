// Without schemas, so that the page offers the same choices and stays small.

/** Types of updates. Bots receive the first five by default, and the others on request (rules/bots.md#update-types). */
export const updateTypes = [
  'message',
  'my_chat_member',
  'friend_request',
  'inline_query',
  'ping',
  'voucher_issued',
  'voucher_redeemed',
  'voucher_reversed',
] as const

export const deliveryStatuses = ['pending', 'delivering', 'delivered', 'failed', 'dead_letter', 'cancelled'] as const

export const voucherStatuses = ['issued', 'redeemed', 'expired'] as const
