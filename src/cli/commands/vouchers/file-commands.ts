import { issueMany } from './issue-many.js'
import { redeemMany } from './redeem-many.js'
import { reverseMany } from './reverse-many.js'
import { sheet } from './sheet.js'
import { verifyMany } from './verify-many.js'

/** Commands for files of vouchers. */
export const fileCommands = {
  'issue-many': issueMany,
  'verify-many': verifyMany,
  'redeem-many': redeemMany,
  'reverse-many': reverseMany,
  sheet,
}

export type FileCommand = keyof typeof fileCommands
