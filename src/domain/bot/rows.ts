/** Rows of the bot plane: times in ms since the epoch, flags 0 or 1, structures as JSON text. */

export interface BotRow {
  id: string
  account_id: string
  name: string
  username: string
  review_status: 'pending' | 'approved' | 'rejected'
  review_note: string | null
  status: 'inactive' | 'active' | 'disabled'
  scopes: string
  /** Null until the owner has seen a token. */
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
  /** Of the voucher that the message delivers: its credentials are derived when its user reads it. */
  application_id: string | null
  voucher_id: string | null
}

export interface UpdateQueueRow {
  bot_id: string
  last_update_id: number
  /** Null: the default types. */
  allowed_updates: string | null
  /** Updates up to this id are no longer pending, although some rows still say so; null: all rows are up to date. */
  confirmed_to: number | null
  /** Among those, updates up to this id were dropped rather than confirmed. */
  dropped_to: number | null
  /** After a change of the delivery mode: deliveries above this id are not updated yet; null: all are. */
  switched_to: number | null
}

export interface UpdateRow {
  bot_id: string
  update_id: number
  type: string
  chat_id: string | null
  /** The JSON text whose UTF-8 bytes are delivered; emptied when nobody can ask for it any more. */
  body: string
  created_at: number
  /** 1 while it waits to be delivered or polled. */
  pending: number
}

export interface WebhookRow {
  bot_id: string
  /** Sealed (domain/sealing.ts): the path of a webhook is a secret. */
  url: string
  /** `https://host`, for people. */
  origin: string
  /** Sealed. */
  secret: string
  old_secret: string | null
  /** Until then both secrets sign. */
  old_secret_until: number | null
  allowed_ips: string
  max_connections: number
  /** 1 after a failed attempt, until the next success: the endpoint then gets one delivery at a time. */
  failing: number
  ip_address: string | null
  last_error_at: number | null
  last_error_message: string | null
  last_success_at: number | null
  set_at: number
}

export interface DeliveryRow {
  id: string
  bot_id: string
  update_id: number
  update_type: string
  /** Deliveries with the same key go one after the other: the chat, or the update itself where there is none. */
  chat_key: string
  status: 'pending' | 'delivering' | 'delivered' | 'failed' | 'dead_letter' | 'cancelled'
  cancel_reason: 'dropped' | 'webhook_deleted' | 'expired' | null
  attempt_count: number
  manual_attempt_count: number
  created_at: number
  last_attempt_at: number | null
  next_attempt_at: number | null
  /** 1 while it waits for a free slot; set when next_attempt_at has come. */
  ready: number
  /** Present during a retry by hand: the status that a failure returns it to. */
  resume_status: 'failed' | 'dead_letter' | 'delivered' | null
  /** True time, ms: an attempt that has not ended by then is lost. */
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
}
