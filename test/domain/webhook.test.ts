import { describe, expect, it } from 'vitest'
import { defaultUpdateTypes } from '../../src/contract/updates.js'
import type { WebhookRow } from '../../src/domain/bot/rows.js'
import {
  type ClearWebhook,
  decideWebhook,
  deliveryModeRecord,
  type WebhookRequest,
  webhookInfo,
} from '../../src/domain/webhook.js'

const NOW = 1_000_000
const request: WebhookRequest = { url: 'https://a.example/x', origin: 'https://a.example' }
const previous: ClearWebhook = {
  url: 'https://a.example/x',
  secret: 'old',
  allowedIps: ['203.0.113.7'],
  maxConnections: 7,
}
const decide = (change: Partial<WebhookRequest> = {}, before: ClearWebhook | null = previous, updates = '["ping"]') =>
  decideWebhook(before, updates, { ...request, ...change }, 'generated', NOW)

describe('decision about a set-webhook call', () => {
  it('first webhook has the generated secret, no allowed IPs, 40 connections', { tags: 'webhook-settings/4' }, () => {
    expect(decideWebhook(null, null, request, 'generated', NOW)).toEqual({
      webhook: { url: request.url, secret: 'generated', allowedIps: [], maxConnections: 40 },
      allowedUpdates: null,
      changed: true,
      urlChanged: true,
      oldSecretUntil: undefined,
    })
  })

  it('repeated webhook keeps every absent member and counts as unchanged', () => {
    const kept = {
      webhook: previous,
      allowedUpdates: '["ping"]',
      changed: false,
      urlChanged: false,
      oldSecretUntil: undefined,
    }
    expect(decide()).toEqual(kept)
    expect(decide({ ...previous, allowedUpdates: ['ping'], graceSeconds: 60 })).toEqual(kept)
  })

  it.each<[string, Partial<WebhookRequest>]>([
    ['url', { url: 'https://a.example/y' }],
    ['secret', { secret: 'new' }],
    ['allowed updates', { allowedUpdates: [] }],
    ['allowed IPs', { allowedIps: [] }],
    ['number of connections', { maxConnections: 8 }],
  ])('webhook counts as changed if the call changes only its %s', (member, change) => {
    expect(decide(change)).toMatchObject({ changed: true, urlChanged: member === 'url' })
  })

  it('changed secret replaces the old one immediately, or after the grace period of the call', () => {
    expect(decide({ secret: 'new' }).oldSecretUntil).toBeNull()
    expect(decide({ secret: 'new', graceSeconds: 0 }).oldSecretUntil).toBeNull()
    expect(decide({ secret: 'new', graceSeconds: 60 }).oldSecretUntil).toBe(NOW + 60_000)
  })
})

const row: WebhookRow = {
  bot_id: 'bot_1',
  url: 'SEALED',
  origin: 'https://a.example',
  secret: 'SEALED',
  old_secret: null,
  old_secret_until: null,
  allowed_ips: '["203.0.113.7"]',
  max_connections: 7,
  failing: 0,
  ip_address: '203.0.113.7',
  last_error_at: 5_999,
  last_error_message: 'connection refused',
  last_success_at: null,
  set_at: 0,
  lease: null,
  lease_until: null,
}
const queue = { allowedUpdates: '["ping"]', pending: 3 }

describe('records of a webhook', () => {
  it('delivery mode of a bot with a webhook has its settings, warnings and dropped updates', () => {
    expect(deliveryModeRecord(row, queue, 2, ['host_unresolved'])).toEqual({
      delivery_mode: 'webhook',
      url: 'https://a.example/…',
      has_secret_token: true,
      allowed_updates: ['ping'],
      allowed_ips: ['203.0.113.7'],
      max_connections: 7,
      pending_update_count: 3,
      dropped_updates: 2,
      warnings: ['host_unresolved'],
    })
  })

  it('delivery mode of a bot without a webhook is polling, with the default settings', () => {
    expect(deliveryModeRecord(null, { allowedUpdates: null, pending: 0 }, 0)).toEqual({
      delivery_mode: 'polling',
      url: null,
      has_secret_token: false,
      allowed_updates: [...defaultUpdateTypes],
      allowed_ips: [],
      max_connections: 40,
      pending_update_count: 0,
      dropped_updates: 0,
      warnings: [],
    })
  })

  it('webhook info has the whole URL, counts, and times in whole seconds', () => {
    const counts = { ...queue, failed: 4, deadLetter: 5 }
    expect(webhookInfo(row, 'https://a.example/x', counts, ['198.51.100.1'])).toEqual({
      delivery_mode: 'webhook',
      url: 'https://a.example/x',
      has_secret_token: true,
      allowed_updates: ['ping'],
      allowed_ips: ['203.0.113.7'],
      max_connections: 7,
      pending_update_count: 3,
      failed_count: 4,
      dead_letter_count: 5,
      ip_address: '203.0.113.7',
      last_error_date: 5,
      last_error_message: 'connection refused',
      last_success_date: null,
      platform_egress_ips: ['198.51.100.1'],
    })
  })

  it('webhook info of a bot without a webhook has no address, error and success', () => {
    expect(webhookInfo(null, null, { ...queue, failed: 0, deadLetter: 0 }, [])).toMatchObject({
      delivery_mode: 'polling',
      url: null,
      ip_address: null,
      last_error_date: null,
      last_error_message: null,
      last_success_date: null,
      platform_egress_ips: [],
    })
  })
})
