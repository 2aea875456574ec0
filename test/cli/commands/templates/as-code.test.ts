import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { built } from '../../../support/cli/built-cli.js'
import { cli, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { pageOf, template, templateFile } from '../../../support/cli/samples.js'

const active = { ...template, status: 'active' }
const env = { VOUCHERCTL_TOKEN: secrets.VOUCHERCTL_TOKEN }

/** Runs a command on a template file against a server that has the given templates. */
async function run(command: string, stored: readonly object[], file = templateFile) {
  const { baseUrl, received } = await stub(({ method, path }) => {
    if (method === 'GET') return success(pageOf(...stored))
    return success({ ...template, status: 'reviewing' }, path.endsWith('/submit') ? 200 : 201)
  })
  const home = temporaryDir()
  writeFileSync(join(home, 'templates.yaml'), file)
  const ran = await cli(`${command} --base-url ${baseUrl}`, { env, home })
  const changes = received.filter(({ method }) => method === 'POST').map(({ path }) => path.split('/templates')[1])
  return { ...ran, changes, received }
}

describe('templates apply', () => {
  test('templates apply creates and submits a template that is missing', { tags: 'template-files/2' }, async () => {
    const { exit, changes, stdout } = await run('templates apply -f templates.yaml --json', [])
    expect([exit, changes]).toEqual([0, ['', '/tpl_01/submit']])
    expect(JSON.parse(stdout).items).toMatchObject([{ id: 'tpl_01', action: 'created', status: 'reviewing' }])
  })

  test('templates apply submits a draft and leaves an equal template unchanged', async () => {
    expect((await run('templates apply -f templates.yaml', [template])).changes).toEqual(['/tpl_01/submit'])
    const { exit, changes, stdout } = await run('templates apply -f templates.yaml', [active])
    expect([exit, changes, stdout]).toEqual([0, [], 'coffee  unchanged  active     tpl_01\n'])
  })

  test('templates apply exits 6 and names differences it cannot change', { tags: 'template-files/2' }, async () => {
    const stored = { ...active, name: 'Free tea', validity: { ...template.validity, durationDays: 10 } }
    const { exit, changes, stdout } = await run('templates apply -f templates.yaml', [stored])
    expect([exit, changes]).toEqual([6, []])
    expect(stdout).toContain('    name: "One free coffee" in the file, "Free tea" on the server\n')
    expect(stdout).toContain('    validity.duration_days: 30 in the file, 10 on the server\n')
    expect(stdout).toContain('A template cannot be changed: give the new version another external_template_id.')
  })

  test('templates apply creates a rejected template anew only if corrected', { tags: 'template-files/2' }, async () => {
    const rejected = { ...template, status: 'rejected', rejectionReason: 'No coffee' }
    const { exit, changes, stdout } = await run('templates apply -f templates.yaml', [rejected])
    expect([exit, changes]).toEqual([6, []])
    expect(stdout).toContain('    Rejected: No coffee\n')
    const corrected = await run('templates apply -f templates.yaml', [{ ...rejected, name: 'Free tea' }])
    expect([corrected.exit, corrected.changes]).toEqual([0, ['', '/tpl_01/submit']])
  })

  test('templates apply sends no file with mistakes, and names their lines', { tags: 'template-files/1' }, async () => {
    const file = 'templates:\n  - { external_template_id: a, nam: x, validity: { type: fixed } }\n'
    const { exit, stderr, received } = await run('templates apply -f templates.yaml', [], file)
    expect([exit, received]).toEqual([2, []])
    expect(stderr).toContain('templates.yaml:2:32')
    expect(stderr).toContain('A template has no member "nam": did you mean "name"?\n')
    expect(stderr).toContain('starts_at is required.\n')
  })
})

test('templates diff exits with 0 for equal templates and 1 otherwise', { tags: 'template-files/2' }, async () => {
  expect(await run('templates diff -f templates.yaml', [active])).toMatchObject({ exit: 0, changes: [] })
  for (const stored of [[], [template], [{ ...active, issueLimit: 9 }]])
    expect(await run('templates diff -f templates.yaml', stored)).toMatchObject({ exit: 1, changes: [] })
})

test('templates diff compares instants by their time and ignores members that the server lacks', async () => {
  const validity = '{ type: fixed, starts_at: "2027-01-01T01:00:00+01:00", ends_at: "2028-01-01T00:00:00Z" }'
  const file = templateFile.replace(/\{ type: relative.*\}/, validity)
  const fixed = { type: 'fixed', startsAt: '2027-01-01T00:00:00.000Z', endsAt: '2028-01-01T00:00:00.000Z' }
  const { description: _description, ...stored } = { ...active, validity: fixed }
  expect(await run('templates diff -f templates.yaml', [stored], file)).toMatchObject({ exit: 0 })
})

test('templates get finds a template by its id on a later page and by the external id', async () => {
  const { baseUrl, received } = await stub(({ path }) => {
    const isSecond = path.includes('page=2')
    const items = isSecond || path.includes('external_template_id=coffee') ? [active] : [{ ...active, id: 'tpl_00' }]
    return success({ items, pagination: { page: isSecond ? 2 : 1, limit: 1, total: 2, pages: 2 } })
  })
  const get = (id: string) => cli(`templates get ${id} --json --base-url ${baseUrl}`, { env })
  expect(JSON.parse((await get('tpl_01')).stdout)).toEqual(active)
  expect(received).toHaveLength(2)
  expect(JSON.parse((await get('coffee')).stdout)).toEqual(active)
})

test('templates get exits with 5 for an unknown template', async () => {
  const { exit, stderr } = await run('templates get tpl_02', [])
  expect([exit, stderr]).toEqual([5, expect.stringContaining('No template has the id or external id tpl_02.')])
})

describe.each(['templates', 'scenario'])('%s init', (group) => {
  const schema = `${group}.schema.json`
  const firstLine = (text: string) => text.split('\n', 1)[0]
  const named = (path: string) => `# yaml-language-server: $schema=${path}`

  test(`${group} init writes its JSON Schema beside the file, overwriting none`, { tags: 'new-files/1' }, async () => {
    const home = temporaryDir()
    const said = `✓ Wrote ${group}.yaml; its schema is ${schema}.\n`
    expect(await cli(`${group} init`, { home })).toMatchObject({ exit: 0, stdout: said })
    const text = readFileSync(join(home, `${group}.yaml`), 'utf8')
    expect(firstLine(text)).toBe(named(`./${schema}`))
    expect(readFileSync(join(home, schema), 'utf8')).toBe(readFileSync(`dist/schemas/${schema}`, 'utf8'))
    expect(await cli(`${group} init`, { home })).toMatchObject({ exit: 1 })
    expect(await cli(`${group} init -`, { home })).toMatchObject({ stdout: text.slice(text.indexOf('\n') + 1) })
    writeFileSync(join(home, schema), '{}')
    expect(await cli(`${group} init other.yaml`, { home })).toMatchObject({ exit: 0 })
    expect(readFileSync(join(home, schema), 'utf8')).toBe('{}')
  })

  test(`built ${group} init names the schema in node_modules of its project`, { tags: 'new-files/1' }, async () => {
    const home = temporaryDir()
    const schemas = join(home, 'project', 'node_modules', 'voucherctl', 'dist', 'schemas')
    mkdirSync(schemas, { recursive: true })
    mkdirSync(join(home, 'project', 'shop', 'other', '.git'), { recursive: true })
    writeFileSync(join(schemas, schema), '{}')
    for (const [folder, path] of [
      ['project', `./node_modules/voucherctl/dist/schemas/${schema}`],
      ['project/shop', `../node_modules/voucherctl/dist/schemas/${schema}`],
      // A separate repository: its clone has no node_modules above it.
      ['project/shop/other', `./${schema}`],
    ] as const) {
      const { exit, stdout } = await built.run([group, 'init', `${folder}/new.yaml`, '--json'], home)
      const copy = path === `./${schema}` ? `${folder}/${schema}` : null
      expect([exit, JSON.parse(stdout)]).toEqual([0, { file: `${folder}/new.yaml`, schema: copy }])
      expect(firstLine(readFileSync(join(home, folder, 'new.yaml'), 'utf8'))).toBe(named(path))
    }
    expect(firstLine((await built.run([group, 'init', '-'], join(home, 'project'))).stdout)).toBe(
      named(`./node_modules/voucherctl/dist/schemas/${schema}`),
    )
  })
})
