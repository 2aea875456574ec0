import { endpoint } from './endpoint.js'
import { instant, noBody, secret } from './fields.js'
import { Type } from './schema.js'

export const openPage = endpoint({
  id: 'platform.openPage',
  summary: 'Create a link that opens the page of this server once',
  method: 'POST',
  path: '/_platform/v1/page-tickets',
  caller: 'operator',
  repeatable: true,
  ...noBody,
  status: 200,
  output: Type.Object({
    url: Type.String({ description: 'the one-time secret is in the fragment', ...secret }),
    expires_at: instant,
  }),
  evidence: { url: 'text' },
  failures: ['PAGE_OFF'],
})
