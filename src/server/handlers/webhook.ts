import type { MakeHandlers } from '../handler.js'
import { notYet } from './not-yet.js'

export const webhookHandlers: MakeHandlers<'webhook'> = () => ({
  set: notYet,
  setByBot: notYet,
  delete: notYet,
  info: notYet,
  deliveries: notYet,
  retry: notYet,
})
