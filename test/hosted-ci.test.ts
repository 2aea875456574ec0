import { execFileSync } from 'node:child_process'
import { accessSync, constants, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'rolldown'
import { describe, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { root } from './support/planting.js'

interface Step {
  readonly id?: string
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}
interface Job {
  readonly permissions?: Readonly<Record<string, string>>
  readonly steps: readonly Step[]
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}
interface Action {
  readonly outputs: Readonly<Record<string, { readonly value: string }>>
  readonly inputs: Readonly<Record<string, unknown>>
  readonly runs: { readonly steps: readonly (Step & { readonly env: Readonly<Record<string, string>> })[] }
}

const github = join(root, '.github')
const read = (path: string) => readFileSync(join(github, path), 'utf8')
const yaml = <T>(path: string) => parseYaml(read(path)) as T
const workflows = readdirSync(join(github, 'workflows')).map((it) => `workflows/${it}`)
const actions = readdirSync(join(github, 'actions')).map((it) => `actions/${it}/action.yml`)

/** Bundled, because the package imports JSON without an attribute, which Node refuses. */
const parser = join(root, 'node_modules/@actions/workflow-parser/dist')
const cache = join(root, `node_modules/.cache/workflow-parser-${process.pid}`)
await build({
  input: { workflow: join(parser, 'index.js'), action: join(parser, 'actions/action-parser.js') },
  platform: 'node',
  output: { dir: cache },
})
const load = async <T>(file: string) => (await import(join(cache, file))) as T
const { NoOperationTraceWriter, parseWorkflow } = await load<typeof import('@actions/workflow-parser')>('workflow.js')
const { parseAction } = await load<typeof import('@actions/workflow-parser/actions/action-parser')>('action.js')
rmSync(cache, { recursive: true, force: true })

const errorsOf = (path: string, content: string) => {
  const parse = path.startsWith('actions/') ? parseAction : parseWorkflow
  return parse({ name: path, content }, new NoOperationTraceWriter()).context.errors.getErrors().map(String)
}
const stepsOf = (path: string): readonly Step[] =>
  path.startsWith('actions/')
    ? yaml<Action>(path).runs.steps
    : Object.values(yaml<Workflow>(path).jobs).flatMap(({ steps }) => steps)

describe.each([...workflows, ...actions])('%s', (path) => {
  test(`${path} has the shape and the expressions that GitHub accepts`, () => {
    expect(errorsOf(path, read(path))).toEqual([])
  })

  test(`${path} names each action of others with a version, and gives no job a credential of git`, () => {
    const used = stepsOf(path).filter(({ uses }) => uses !== undefined)
    expect(used.filter(({ uses }) => !/^actions\/[\w-]+@v\d+$/.test(uses ?? ''))).toEqual([])
    const checkouts = used.filter(({ uses }) => uses?.startsWith('actions/checkout@'))
    expect(checkouts.filter((it) => it.with?.['persist-credentials'] !== false)).toEqual([])
  })

  test(`${path} has lines for a shell without expressions, which bash can parse`, () => {
    for (const { run } of stepsOf(path)) {
      if (run === undefined) continue
      expect(run).not.toContain('${{')
      execFileSync('bash', ['-n'], { input: run })
    }
  })

  test(`${path} uses only outputs of its own steps`, () => {
    const ids = stepsOf(path).map(({ id }) => id)
    const used = [...read(path).matchAll(/\bsteps\.([\w-]+)\.outputs/g)].map(([, id]) => id)
    expect(used.filter((id) => !ids.includes(id))).toEqual([])
  })
})

test('the check of workflows reports a wrong key, a wrong expression and an unknown context', () => {
  const workflow = (step: string) => `on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - ${step}\n`
  expect(errorsOf('workflows/a.yml', workflow('run: ls'))).toEqual([])
  const wrong = ['runs: ls', 'run: ${{ github.ref', 'run: ${{ secret.A }}', 'run: ${{ contain(1, 2) }}']
  expect(wrong.filter((step) => errorsOf('workflows/a.yml', workflow(step)).length === 0)).toEqual([])
})

test('workflows may only read contents, except the jobs that publish', () => {
  const granted = workflows.flatMap((path) => {
    const { permissions, jobs } = yaml<Workflow>(path)
    const ofJobs = Object.entries(jobs).map(([name, job]) => [`${path} ${name}`, job.permissions])
    return [[path, permissions], ...ofJobs].filter(([, it]) => it !== undefined)
  })
  expect(Object.fromEntries(granted)).toEqual({
    'workflows/ci.yml': { contents: 'read' },
    'workflows/release.yml': { contents: 'read' },
    'workflows/release.yml publish': { contents: 'read', 'id-token': 'write', attestations: 'write' },
    'workflows/release.yml page': { contents: 'write' },
  })
})

test('release workflow runs no code of the repository in jobs that may write', () => {
  const { jobs } = yaml<Workflow>('workflows/release.yml')
  const writing = Object.values(jobs).filter(({ permissions = {} }) => Object.values(permissions).includes('write'))
  const steps = writing.flatMap((it) => it.steps)
  expect(
    steps.filter(({ uses, run }) => uses?.includes('checkout') || /npm (?:ci|install|run)/.test(run ?? '')),
  ).toEqual([])
  expect(steps.some(({ run }) => run?.startsWith('npm publish --provenance '))).toBe(true)
  expect(steps.some(({ uses }) => uses?.startsWith('actions/attest-build-provenance@'))).toBe(true)
})

test.each(actions)('%s passes each input to a script that can be executed', (path) => {
  const { inputs, runs } = yaml<Action>(path)
  const [step] = runs.steps
  const name = path.split('/')[1]
  expect(step?.run).toBe(`"$GITHUB_ACTION_PATH/${name}.sh"`)
  accessSync(join(github, 'actions', name ?? '', `${name}.sh`), constants.X_OK)
  expect(step?.env).toEqual(
    Object.fromEntries(Object.keys(inputs).map((it) => [`INPUT_${it.toUpperCase()}`, `\${{ inputs.${it} }}`])),
  )
})

test('dependabot groups every package, bundled packages apart from tools', () => {
  const { updates } = yaml<{ updates: { groups: Record<string, { patterns: string[] }> }[] }>('dependabot.yml')
  const { bundled, build, tests } = updates[0]?.groups ?? {}
  const matches = (pattern: string, name: string) =>
    new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('/', '\\/')}$`).test(name)
  const { devDependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const names = Object.keys({ ...devDependencies, ...optionalDependencies })
  const inGroup = (group: { patterns: string[] } | undefined) =>
    names.filter((name) => group?.patterns.some((it) => matches(it, name)))
  const { packages } = JSON.parse(readFileSync(join(root, 'dist/build.json'), 'utf8'))
  const inBundle = packages.map(({ name }: { name: string }) => name)
  const direct = names.filter(
    (name) => inBundle.includes(name) || name in optionalDependencies || name === '@inquirer/prompts',
  )
  expect(inGroup(bundled).sort()).toEqual(direct.sort())
  const unused = [...(bundled?.patterns ?? []), ...(build?.patterns ?? [])]
  expect(unused.filter((pattern) => !names.some((name) => matches(pattern, name)))).toEqual([])
  expect(tests?.patterns).toEqual(['*'])
})

test('issue forms have the fields that GitHub knows, and ask for doctor --json', () => {
  const forms = readdirSync(join(github, 'ISSUE_TEMPLATE')).filter((it) => it !== 'config.yml')
  expect(forms.length).toBe(2)
  for (const form of forms) {
    const { name, description, body } = yaml<{
      name: string
      description: string
      body: { type: string; id: string; attributes: { label: string } }[]
    }>(`ISSUE_TEMPLATE/${form}`)
    expect([typeof name, typeof description]).toEqual(['string', 'string'])
    const ids = body.map(({ id }) => id)
    expect(ids.filter((id, at) => !/^[\w-]+$/.test(id) || ids.indexOf(id) !== at)).toEqual([])
    expect(body.filter(({ type }) => !['textarea', 'input', 'dropdown', 'checkboxes'].includes(type))).toEqual([])
    expect(body.map(({ attributes }) => attributes.label).join('\n')).toContain('voucherctl doctor --json')
  }
})
