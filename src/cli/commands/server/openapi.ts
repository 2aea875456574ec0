import { leaf } from '../../command/leaf.js'

export const openapi = leaf({
  name: 'openapi',
  summary: 'Print the OpenAPI 3.1 document of what the server answers',
  examples: [{ command: 'voucherctl server openapi > openapi.json' }, { command: 'voucherctl server openapi -o yaml' }],
  view: { body: (document: object) => JSON.stringify(document, null, 2) },
  run: async ({ host, settings }) => {
    const { openApiDocument } = await import('../../../contract/openapi/openapi.js')
    const { value: serverUrl } = settings.baseUrl
    const options = { version: host.version(), ...(serverUrl === undefined ? {} : { serverUrl }) }
    return { ok: true, data: openApiDocument(options) }
  },
})
