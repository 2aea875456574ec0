import { resolve } from 'node:path'
import { defined } from '../../../values/json.js'
import { leaf } from '../../command/leaf.js'
import { path } from '../../flags/flags.js'
import { tryToWrite } from '../../host/files.js'

export const openapi = leaf({
  name: 'openapi',
  summary: 'Print the OpenAPI 3.1 document of the interface, or write a reference to read',
  notes: [
    'With --html it writes one file for a browser that needs no network: each endpoint with its scope, members, failures, and an example as curl and as a call of the client library. `voucherctl open` shows the same on the page of a server.',
  ],
  flags: { html: path('FILE', 'Write the reference as an HTML file, replacing it if it exists') },
  examples: [
    'voucherctl server openapi > openapi.json',
    'voucherctl server openapi -o yaml',
    'voucherctl server openapi --html reference.html',
  ],
  changes: true,
  view: {
    body: (document: object) =>
      'html' in document ? `Wrote the reference to ${document.html}.` : JSON.stringify(document, null, 2),
  },
  run: async ({ host, settings, dryRun, plan }, { flags: { html } }) => {
    const version = host.version()
    if (html === undefined) {
      const { openApiDocument } = await import('../../../contract/openapi/openapi.js')
      const data = openApiDocument({ version, ...defined({ serverUrl: settings.baseUrl.value }) })
      return { ok: true, data, reads: true }
    }
    if (dryRun) return plan(`write the reference to ${html}`)
    const [{ reference }, { referenceHtml }, { replaceFile }] = await Promise.all([
      import('../../../contract/openapi/reference.js'),
      import('./reference-html.js'),
      import('../../../files/replace-file.js'),
    ])
    const described = reference()
    const page = referenceHtml(described, version)
    const failure = tryToWrite(html, 'Check its folder and permissions, or name another file.', () =>
      replaceFile(resolve(host.cwd, html), page, { isPrivate: false }),
    )
    if (failure !== undefined) return failure
    return { ok: true, data: { html, endpoints: described.groups.flatMap((it) => it.endpoints).length } }
  },
})
