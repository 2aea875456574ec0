import type { Probe } from '../../probe.js'
import { deliveryAttempts, deliveryRecords, retrySchedule, signatures } from './deliveries.js'
import { cancelledDeliveries, webhookRemoval } from './removal.js'
import { deliveryOrder, manualRetries } from './retries.js'
import { webhookSettings } from './settings.js'
import { webhookUrls } from './urls.js'

export const webhooks: readonly Probe[] = [
  ...webhookUrls,
  ...signatures,
  ...webhookSettings,
  ...webhookRemoval,
  ...deliveryRecords,
  ...cancelledDeliveries,
  ...manualRetries,
  ...deliveryOrder,
  ...deliveryAttempts,
  ...retrySchedule,
]
