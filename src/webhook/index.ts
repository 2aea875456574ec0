// voucherctl/webhook: verifies, explains and signs webhook deliveries. It loads only modules of Node.
export type { UpdateOf, UpdatePayloads, UpdateType } from '../contract/updates.js'
export type { MismatchExplanation } from './explain.js'
export { explainMismatch } from './explain.js'
export type { MismatchCause } from './mismatch-causes.js'
export type {
  RawBody,
  SignedWebhookHeaders,
  SignWebhookInput,
  VerifiedWebhook,
  VerifyWebhookInput,
  WebhookHeaders,
  WebhookRefusal,
  WebhookRefusalReason,
  WebhookSecret,
  WebhookUpdate,
  WebhookVerdict,
} from './signature.js'
export { DEFAULT_TOLERANCE_SECONDS, signWebhook, verifyWebhook, webhookHeaders } from './signature.js'
