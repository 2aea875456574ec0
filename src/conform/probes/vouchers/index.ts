import type { Probe } from '../../probe.js'
import { botIssue } from './bot-issue.js'
import { botSideTemplates } from './bot-side-templates.js'
import { credentials } from './credentials.js'
import { idempotencyKeys } from './idempotency-keys.js'
import { issueProbes } from './issue.js'
import { keysInFlight, redemptions } from './redemptions.js'
import { reversal } from './reversal.js'
import { templateStates } from './template-states.js'
import { templateProbes } from './templates.js'
import { failureCodes, validity, validityAfterTheEnd } from './validity.js'
import { verifyProbes } from './verify.js'
import { voucherRecords } from './vouchers.js'

export const vouchers: readonly Probe[] = [
  // Run these first: one of their vouchers expires while other probes run.
  ...validity,
  ...idempotencyKeys,
  ...keysInFlight,
  ...templateProbes,
  ...templateStates,
  ...botSideTemplates,
  ...credentials,
  ...issueProbes,
  ...botIssue,
  ...voucherRecords,
  ...verifyProbes,
  ...redemptions,
  ...reversal,
  ...validityAfterTheEnd,
  ...failureCodes,
]
