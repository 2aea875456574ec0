import { type McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server'
import { rulesOf } from '../command/rules.js'
import type { Host } from '../host/host.js'

const schemas = ['seed.schema.json', 'scenario.schema.json', 'templates.schema.json']

/** Registers the documents of the package: OpenAPI document, rules, guides, schemas of files. */
export function registerResources(server: McpServer, host: Host, guides: readonly string[]): void {
  const api = 'voucherctl://openapi.json'
  server.registerResource('openapi', api, { title: 'OpenAPI document', mimeType: 'application/json' }, async () => {
    const { openApiDocument } = await import('../../contract/openapi/openapi.js')
    const text = JSON.stringify(openApiDocument({ version: host.version() }))
    return { contents: [{ uri: api, mimeType: 'application/json', text }] }
  })
  register(server, 'rules', 'Rules of the platform', 'text/markdown', {
    names: () => [...rulesOf(host).keys()],
    read: (name) => rulesOf(host).get(name),
  })
  register(server, 'guides', 'Guides', 'text/markdown', {
    names: () => guides,
    read: (name) => (guides.includes(name) ? host.document(`src/guides/${name}.md`) : undefined),
  })
  register(server, 'schemas', 'Schemas of seeds, scenarios and templates', 'application/schema+json', {
    names: () => schemas,
    read: (name) => (schemas.includes(name) ? host.document(`dist/schemas/${name}`) : undefined),
  })
}

interface Documents {
  names(): readonly string[]
  read(name: string): string | undefined
}

function register(server: McpServer, kind: string, title: string, mimeType: string, { names, read }: Documents): void {
  const list = () => ({ resources: names().map((name) => ({ name, uri: `voucherctl://${kind}/${name}`, mimeType })) })
  const template = new ResourceTemplate(`voucherctl://${kind}/{name}`, { list })
  server.registerResource(kind, template, { title, mimeType }, async ({ href }, { name }) => {
    const text = read(String(name))
    if (text === undefined) throw new ResourceNotFoundError(href)
    return { contents: [{ uri: href, mimeType, text }] }
  })
}
