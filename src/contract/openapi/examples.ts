import type { Endpoint } from '../endpoint.js'
import { exampleOf } from '../schema.js'
import { reversedRedemption, updateExample } from '../update-payloads.js'
import { deliveryMode, webhookInfo, webhookSettings } from '../webhook.js'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [member: string]: Json }
export type JsonObject = { readonly [member: string]: Json }

/** Example `data` of successes, by endpoint id, where the example of the output shows another case. */
const data: Readonly<Record<string, () => unknown>> = {
  'vouchers.reverse': reversedRedemption,
  'bots.updates': () => ({ items: [updateExample('message')] }),
  'webhook.info': () => ({ ...exampleOf(webhookSettings), ...exampleOf(webhookInfo) }),
  'webhook.delete': () => ({
    ...{ ...exampleOf(webhookSettings), ...exampleOf(deliveryMode) },
    ...{ delivery_mode: 'polling', url: null, has_secret_token: false },
  }),
  'platform.addUpdate': () => updateExample('message'),
}

/** Returns the example of a request body; `{}` for an endpoint without one. */
export const bodyExample = ({ body }: Pick<Endpoint, 'body'>): JsonObject =>
  body === undefined ? {} : (exampleOf(body) as JsonObject)

/** Returns example `data` of a success. */
export const dataExample = ({ id, output }: Pick<Endpoint, 'id' | 'output'>): Json =>
  (data[id]?.() ?? exampleOf(output)) as Json
