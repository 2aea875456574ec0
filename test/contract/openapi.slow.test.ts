import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execaNode } from 'execa'
import { expect, test } from 'vitest'
import { openApiDocument } from '../../src/contract/openapi/openapi.js'

interface Operation {
  operationId: string
  parameters: unknown[]
  security: Record<string, unknown>[]
  requestBody?: { content: Record<string, { example?: unknown }> }
}
interface Document {
  paths: Record<string, Record<string, Operation>>
}

const read = () => JSON.parse(JSON.stringify(openApiDocument({ version: '1.2.3' }))) as Document
const redocly = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin/cli.js')

const broken: Readonly<Record<string, (document: Document) => void>> = {
  'path-parameters-defined': (it) => {
    const path = it.paths['/api/v1/open-platform/applications/{appId}']?.get
    if (path) path.parameters = []
  },
  'operation-operationId-unique': (it) => {
    const path = it.paths['/api/v1/open-platform/vouchers/verify']?.post
    if (path) path.operationId = 'vouchers.redeem'
  },
  'no-invalid-media-type-examples': (it) => {
    const media = it.paths['/api/v1/open-platform/vouchers/verify']?.post?.requestBody?.content['application/json']
    if (media) media.example = { credential: { type: 'barcode', value: '1' } }
  },
  'security-defined': (it) => {
    const path = it.paths['/api/v1/open-platform/vouchers/verify']?.post
    if (path) path.security = [{ cookie: [] }]
  },
}

/** A copy of the OpenAPI document with three paths that contains every fault of `broken`. */
function brokenDocument(): Document {
  const copy = read()
  const verify = '/api/v1/open-platform/vouchers/verify'
  const redeem = '/api/v1/open-platform/vouchers/redeem'
  const app = '/api/v1/open-platform/applications/{appId}'
  const few = {
    ...copy,
    paths: Object.fromEntries([verify, redeem, app].map((path) => [path, copy.paths[path] ?? {}])),
  }
  for (const damage of Object.values(broken)) damage(few)
  return few
}

test('redocly recommended-strict reports planted faults and none in the OpenAPI document', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'voucherctl-openapi-'))
  try {
    // Redocly accepts only this file name; JSON is valid YAML.
    writeFileSync(join(folder, 'redocly.yaml'), JSON.stringify({ extends: ['recommended-strict'] }))
    writeFileSync(join(folder, 'served.json'), JSON.stringify(read()))
    writeFileSync(join(folder, 'broken.json'), JSON.stringify(brokenDocument()))
    const { stdout, stderr } = await execaNode({
      cwd: folder,
      env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      reject: false,
    })(redocly, ['lint', 'served.json', 'broken.json', '--config', 'redocly.yaml', '--format=json'])
    // Redocly prints one JSON object per document.
    const [served, few] = stdout.split(/(?<=^\})(?=\{)/m).map((text) => {
      const { problems } = JSON.parse(text || expect.unreachable(stderr)) as { problems: { ruleId: string }[] }
      return problems.map(({ ruleId }) => ruleId)
    })
    expect(served).toEqual([])
    expect(few).toEqual(expect.arrayContaining(Object.keys(broken)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
