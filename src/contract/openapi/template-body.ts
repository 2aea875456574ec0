/** A template body that every platform accepts, for examples, the default seed, probes and tests. */
export const templateBody = {
  external_template_id: 'coffee-1',
  name: 'One free coffee',
  type: 'gift',
  issuer_name: 'Coffee shop',
  fulfiller_name: 'Coffee shop',
  fulfillment_category: 'offline_service',
  acquisition_source: 'free_claim',
  validity: { type: 'relative', duration_days: 30 },
  issue_limit: 1000,
} as const
