import { resolve } from 'node:path'
import { codeOf } from '../../../files/error-code.js'
import { leaf } from '../../command/leaf.js'
import { fail } from '../../failures/failure.js'
import { defined } from '../../flags/defined.js'
import { path } from '../../flags/flags.js'

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
    try {
      replaceFile(resolve(host.cwd, html), referenceHtml(described, version), { isPrivate: false })
    } catch (error) {
      return fail(
        'FILE_UNWRITABLE',
        `${html} cannot be written (${codeOf(error)}).`,
        'Check its folder, owner and permissions, or name another file.',
      )
    }
    return { ok: true, data: { html, endpoints: described.groups.flatMap((it) => it.endpoints).length } }
  },
})
