/** Rows of the tables for bots: times in ms since the epoch, flags 0 or 1, structures as JSON text. */

export interface BotRow {
  id: string
  account_id: string
  name: string
  username: string
  review_status: 'pending' | 'approved' | 'rejected'
  review_note: string | null
  status: 'inactive' | 'active' | 'disabled'
  scopes: string
  /** Null until the owner has read the first token. */
  token_prefix: string | null
  profile: string
  command_menus: string
  application_id: string | null
  linked_at: number | null
  submitted_at: number
  created_at: number
  updated_at: number
}

export interface ChatRow {
  id: string
  bot_id: string
  user_id: string
  type: 'private' | 'group'
  blocked: number
  last_message_id: number
  created_at: number
}

export interface MessageRow {
  chat_id: string
  message_id: number
  sent_at: number
  from_bot: number
  text: string
  /** Application of the delivered voucher, if any; its credentials are derived when the user reads the message. */
  application_id: string | null
  voucher_id: string | null
}

export interface UpdateQueueRow {
  bot_id: string
  last_update_id: number
  /** JSON; null means the default types. */
  allowed_updates: string | null
  /** Updates up to this id are no longer pending, even if their rows still say so; null: all rows are up to date. */
  confirmed_to: number | null
  /** Updates up to this id were dropped without confirmation. */
  dropped_to: number | null
  /** Set while a change of the delivery mode is being applied: rows above this id are not updated yet. */
  switched_to: number | null
}

export interface UpdateRow {
  bot_id: string
  update_id: number
  type: string
  chat_id: string | null
  /** JSON text whose UTF-8 bytes are delivered; emptied once no poll or retry can request it. */
  body: string
  created_at: number
  /** 1 while the update waits to be delivered or polled. */
  pending: number
  /** Request that issued, redeemed or reversed a voucher; null for other updates. */
  request_id: string | null
}

export interface WebhookRow {
  bot_id: string
  /** Encrypted (domain/sealing.ts): the path of a webhook is a secret. */
  url: string
  /** `https://host`, for display. */
  origin: string
  /** Encrypted. */
  secret: string
  old_secret: string | null
  /** End of the grace period in which the server signs with both secrets. */
  old_secret_until: number | null
  allowed_ips: string
  max_connections: number
  /** 1 from a failed attempt to the next success; meanwhile the endpoint gets one delivery at a time. */
  failing: number
  ip_address: string | null
  last_error_at: number | null
  last_error_message: string | null
  last_success_at: number | null
  set_at: number
  /** JSON of a `WebhookLease` while a listener borrows the webhook. */
  lease: string | null
  /** System time at which an unrenewed lease ends. */
  lease_until: number | null
}

/** Lease of a webhook (rules/webhooks.md#borrowed-webhooks). */
export interface WebhookLease {
  readonly id: string
  /** Who has the webhook, in words. */
  readonly holder: string
  /** The settings of the owner, which return at the end; null for a bot that uses polling. */
  readonly kept: WebhookRow | null
}

export interface DeliveryRow {
  id: string
  bot_id: string
  update_id: number
  update_type: string
  /** Chat id, or update id of an update without a chat. Deliveries with the same chat_key are sent in order. */
  chat_key: string
  status: 'pending' | 'delivering' | 'delivered' | 'failed' | 'dead_letter' | 'cancelled'
  cancel_reason: 'dropped' | 'webhook_deleted' | 'expired' | null
  attempt_count: number
  manual_attempt_count: number
  created_at: number
  last_attempt_at: number | null
  next_attempt_at: number | null
  /** 1 while the delivery waits for a free slot; set once next_attempt_at has passed. */
  ready: number
  /** Set during a manual retry: the status that a failure restores. */
  resume_status: 'failed' | 'dead_letter' | 'delivered' | null
  /** End of the lease in ms by the system clock, not the test clock: an attempt without a result by then is lost. */
  lease_until: number | null
  delivered_at: number | null
  last_status_code: number | null
  last_error_code: string | null
  last_error_message: string | null
  last_duration_ms: number | null
}

export interface DeliveryAttemptRow {
  delivery_id: string
  number: number
  bot_id: string
  manual: number
  started_at: number
  duration_ms: number
  status_code: number | null
  error_code: string | null
  error_message: string | null
  /** Kind of the planted fault that affected the attempt. */
  fault: string | null
}
