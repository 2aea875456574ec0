import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execaNode } from 'execa'
import { afterAll, describe, expect, test } from 'vitest'
import { failuresOf } from '../../src/contract/endpoint.js'
import { failures } from '../../src/contract/errors.js'
import { contract, endpoints } from '../../src/contract/index.js'
import { openApiDocument } from '../../src/contract/openapi.js'

interface Operation {
  operationId: string
  parameters: { name: string; in: string; required?: boolean }[]
  security: Record<string, unknown>[]
  requestBody?: { required: boolean }
  responses: Record<string, { content: Record<string, { examples?: Record<string, unknown> }> }>
  'x-required-scope'?: string
}
interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, { enum?: string[] }> }
}

const read = () => JSON.parse(JSON.stringify(openApiDocument(endpoints, { version: '1.2.3' }))) as Document
const document = read()
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
)
const operationOf = (id: string) => operations.find(({ operationId }) => operationId === id) ?? expect.unreachable(id)

describe.each(endpoints.map((endpoint) => [endpoint.id, endpoint] as const))('%s', (id, endpoint) => {
  const operation = operationOf(id)

  test('stands under its method and path, with its credential and scope', () => {
    expect(`${operation.method} ${operation.path}`).toBe(
      `${endpoint.method} ${endpoint.path.replaceAll(/:(\w+)/g, '{$1}')}`,
    )
    expect(operation.security).toEqual([{ [endpoint.caller]: [] }])
    expect(operation['x-required-scope']).toBe(endpoint.scope)
  })

  test('names every failure that it can answer under its status, with an example', () => {
    for (const code of failuresOf(endpoint)) {
      const response = operation.responses[String(failures[code].status)]
      expect(Object.keys(response?.content['application/json']?.examples ?? {}), code).toContain(code)
    }
  })

  test('names the Idempotency-Key exactly where it is honoured, required where the contract says so', () => {
    const header = operation.parameters.find(({ name }) => name === 'Idempotency-Key')
    expect(header?.required).toBe(endpoint.idempotent === undefined ? undefined : endpoint.idempotent === true)
  })
})

test('every code of the failure table is in the document', () => {
  expect(document.components.schemas.FailureCode?.enum).toEqual(Object.keys(failures))
})

test('health, readiness and metrics are in the document, without a credential', () => {
  for (const path of ['/healthz', '/readyz', '/metrics']) expect(document.paths[path]?.get?.security).toEqual([])
})

test('an optional body is not required, a required one is', () => {
  expect(operationOf('vouchers.reverse').requestBody?.required).toBe(false)
  expect(operationOf('vouchers.redeem').requestBody?.required).toBe(true)
})

test('what is not served is not in the document', () => {
  const { platform: _platform, ...published } = contract
  const served = Object.values(published).flatMap((group) => Object.values(group))
  const text = JSON.stringify(openApiDocument(served, { version: '1.2.3' }).paths)
  expect(text).not.toContain('/_platform/')
})

describe('a public validator, its rules raised to errors', () => {
  const folder = mkdtempSync(join(tmpdir(), 'voucherctl-openapi-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const redocly = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin/cli.js')
  const rules = {
    struct: 'error',
    'no-unresolved-refs': 'error',
    'no-unused-components': 'off',
    'no-invalid-media-type-examples': 'error',
    'no-invalid-schema-examples': 'error',
    'no-invalid-parameter-examples': 'error',
    'no-identical-paths': 'error',
    'no-ambiguous-paths': 'error',
    'no-path-trailing-slash': 'error',
    'no-enum-type-mismatch': 'error',
    'no-undefined-server-variable': 'error',
    'no-duplicated-tag-names': 'error',
    'path-parameters-defined': 'error',
    'path-declaration-must-exist': 'error',
    'path-not-include-query': 'error',
    'operation-operationId': 'error',
    'operation-operationId-unique': 'error',
    'operation-parameters-unique': 'error',
    'operation-summary': 'error',
    'operation-2xx-response': 'error',
    'operation-tag-defined': 'error',
    'security-defined': 'error',
    'info-license': 'error',
    'spec-components-invalid-map-name': 'error',
    'spec-strict-refs': 'error',
    'tag-description': 'error',
  }
  // JSON is YAML, and this is the one name that it accepts.
  writeFileSync(join(folder, 'redocly.yaml'), JSON.stringify({ rules }))

  async function problemsOf(name: string, content: unknown): Promise<string[]> {
    const file = join(folder, `${name}.json`)
    writeFileSync(file, JSON.stringify(content))
    const { stdout, exitCode, stderr } = await execaNode({
      cwd: folder,
      env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      reject: false,
    })(redocly, ['lint', file, '--config', join(folder, 'redocly.yaml'), '--format=json'])
    const report = JSON.parse(stdout || expect.unreachable(stderr)) as { problems: { ruleId: string }[] }
    const problems = report.problems.map((problem) => problem.ruleId)
    expect(exitCode).toBe(problems.length === 0 ? 0 : 1)
    return problems
  }

  test('accepts the document', { timeout: 30_000 }, async () => {
    expect(await problemsOf('served', document)).toEqual([])
  })

  test.each<[string, string, (broken: Document) => void]>([
    [
      'a parameter missing from its path',
      'path-parameters-defined',
      (it) => {
        const path = it.paths['/api/v1/open-platform/applications/{appId}']?.get
        if (path) path.parameters = []
      },
    ],
    [
      'an operation id used twice',
      'operation-operationId-unique',
      (it) => {
        const path = it.paths['/api/v1/open-platform/vouchers/verify']?.post
        if (path) path.operationId = 'vouchers.redeem'
      },
    ],
    [
      'an example that does not fit its schema',
      'no-invalid-media-type-examples',
      (it) => {
        const answer = it.paths['/api/v1/open-platform/vouchers/verify']?.post?.responses['404']
        const examples = answer?.content['application/json']?.examples
        if (examples) examples.VOUCHER_NOT_FOUND = { value: { success: false, code: 'TEMPLATE_NOT_FOUND' } }
      },
    ],
    [
      'a credential that is not defined',
      'security-defined',
      (it) => {
        const path = it.paths['/api/v1/open-platform/vouchers/verify']?.post
        if (path) path.security = [{ cookie: [] }]
      },
    ],
  ])('refuses %s', { timeout: 30_000 }, async (name, rule, damage) => {
    const broken = read()
    damage(broken)
    expect(await problemsOf(name.replaceAll(' ', '-'), broken)).toContain(rule)
  })
})
