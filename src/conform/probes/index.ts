import type { Group } from '../group.js'
import type { Probe } from '../probe.js'
import { botMetrics } from './bots/bot-metrics.js'
import { botRecords, regeneratedTokens } from './bots/bot-records.js'
import { botStates } from './bots/bot-states.js'
import { messages } from './bots/messages.js'
import { polling } from './bots/polling.js'
import { updates, updateTypeProbes } from './bots/updates.js'
import { applicationTokens } from './callers/application-tokens.js'
import { applications } from './callers/applications.js'
import { credentialKinds } from './callers/credential-kinds.js'
import { scopeProbes } from './callers/scopes.js'
import { tenants } from './callers/tenants.js'
import { accountTokens, storedSecrets, tokenForm } from './callers/tokens-and-secrets.js'
import { bodies } from './calls/bodies.js'
import { connections } from './calls/connections.js'
import { envelope } from './calls/envelope.js'
import { failureCodes } from './calls/failure-codes.js'
import { lists } from './calls/lists.js'
import { orderOfChecks } from './calls/order-of-checks.js'
import { orderOfObjects } from './calls/order-of-objects.js'
import { rateLimits } from './calls/rate-limits.js'
import { ids, times, versions } from './calls/small-rules.js'
import { text } from './calls/text.js'
import { unknownMembers } from './calls/unknown-members.js'
import { bootstrapAndSession, encryptedTransport, publicKeys } from './encryption/bootstrap.js'
import { dispatchOrder } from './encryption/dispatch-order.js'
import { envelopes, replayMarks } from './encryption/envelopes.js'
import { innerRequests, innerResponses } from './encryption/inner-requests.js'
import { sessionOrigins } from './encryption/origins.js'
import { requiredEncryption } from './encryption/required.js'
import { botIssue } from './vouchers/bot-issue.js'
import { botSideTemplates } from './vouchers/bot-side-templates.js'
import { credentials } from './vouchers/credentials.js'
import { idempotencyKeys } from './vouchers/idempotency-keys.js'
import { issueProbes } from './vouchers/issue.js'
import { keysInFlight, redemptions } from './vouchers/redemptions.js'
import { reversal } from './vouchers/reversal.js'
import { templateStates } from './vouchers/template-states.js'
import { templateProbes } from './vouchers/templates.js'
import { validity, validityAfterTheEnd, failureCodes as voucherFailureCodes } from './vouchers/validity.js'
import { verifyProbes } from './vouchers/verify.js'
import { voucherRecords } from './vouchers/vouchers.js'
import { deliveryAttempts, deliveryRecords, retrySchedule, signatures } from './webhooks/deliveries.js'
import { cancelledDeliveries, webhookRemoval } from './webhooks/removal.js'
import { deliveryOrder, manualRetries } from './webhooks/retries.js'
import { webhookSettings } from './webhooks/settings.js'
import { webhookUrls } from './webhooks/urls.js'

/** Probes by group and rule, in execution order. */
const byGroup: Readonly<Record<Group, readonly (readonly Probe[])[]>> = {
  calls: [
    envelope,
    orderOfChecks,
    orderOfObjects,
    failureCodes,
    lists,
    times,
    ids,
    text,
    bodies,
    unknownMembers,
    connections,
    rateLimits,
    versions,
  ],
  callers: [
    tenants,
    scopeProbes,
    credentialKinds,
    tokenForm,
    applicationTokens,
    accountTokens,
    applications,
    storedSecrets,
  ],
  vouchers: [
    // Run these first: one of their vouchers expires while other probes run.
    validity,
    idempotencyKeys,
    keysInFlight,
    templateProbes,
    templateStates,
    botSideTemplates,
    credentials,
    issueProbes,
    botIssue,
    voucherRecords,
    verifyProbes,
    redemptions,
    reversal,
    validityAfterTheEnd,
    voucherFailureCodes,
  ],
  bots: [botRecords, botStates, botMetrics, messages, updates, updateTypeProbes, polling, regeneratedTokens],
  webhooks: [
    webhookUrls,
    signatures,
    webhookSettings,
    webhookRemoval,
    deliveryRecords,
    cancelledDeliveries,
    manualRetries,
    deliveryOrder,
    deliveryAttempts,
    retrySchedule,
  ],
  encryption: [
    encryptedTransport,
    bootstrapAndSession,
    publicKeys,
    envelopes,
    dispatchOrder,
    innerRequests,
    innerResponses,
    sessionOrigins,
    replayMarks,
    requiredEncryption,
  ],
}

/** All probes in execution order. */
export const allProbes = Object.entries(byGroup).flatMap(([group, rules]) =>
  rules.flat().map((probe) => ({ ...probe, group: group as Group })),
)
