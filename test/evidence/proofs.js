import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { root } from '../support/planting.js'

/** Files with proofs: tests, campaigns, and portions of mutation tests. */
const FILES = /\.test\.ts$|^faults\/campaigns\/|^mutation\/portions\.js$/

/** Runs probes by rule, so its tags are no literals. */
export const PROBES = 'test/conform/probes.test.ts'

/** Commands by the paths of the files that they run; the first that matches. */
const commands = [
  [/^test\/faults\/campaigns\//, 'npm run faults'],
  [/^test\/mutation\//, 'npm run mutate'],
  [/^test\/e2e\//, '.ci/run'],
  [/\.long\.test\.ts$/, 'npm run test:long'],
  [/\.slow\.test\.ts$/, 'npm run test:rest'],
  [/^test\/store\/postgres\//, 'npm run test:postgres'],
  [/^/, 'npm test'],
]
/** The command that runs a file. */
export const commandOf = (/** @type {string} */ path) => commands.find(([pattern]) => pattern.test(path))?.[1] ?? ''

/** All tagged tests, campaigns and portions, in the order of their files. */
export function readTagged() {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => FILES.test(path) && `test/${path}` !== PROBES)
    .sort()
    .flatMap((path) => taggedIn(`test/${path}`, readFileSync(join(root, 'test', path), 'utf8')))
}

/** Tagged objects of a file: options of a test, after its name, or a campaign or portion with a member `name`. */
export function taggedIn(/** @type {string} */ file, /** @type {string} */ source) {
  if (!source.includes('tags')) return []
  const found = []
  const memberOf = (object, name) => object.properties.find(({ key }) => key?.name === name)?.value
  const isText = (node) => node?.type === 'Literal' || node?.type === 'TemplateLiteral'
  const textOf = (node) => {
    if (!isText(node)) throw new Error(`${file}: a tag and the name of its test must be texts, not expressions`)
    return node.type === 'Literal' ? node.value : source.slice(node.start + 1, node.end - 1)
  }
  const visit = (node, isSkipped, previous) => {
    if (Array.isArray(node)) return node.forEach((it, at) => visit(it, isSkipped, node[at - 1]))
    if (typeof node?.type !== 'string') return
    // The callee has the `skip` of a test itself; a skipped `describe` contains its tests.
    const skips = isSkipped || (node.type === 'CallExpression' && SKIPPED.test(calleeOf(node, source)))
    const tags = node.type === 'ObjectExpression' && memberOf(node, 'tags')
    const name = tags && (memberOf(node, 'name') ?? previous)
    const requirement = tags && memberOf(node, 'requirement')
    if (tags && isText(name))
      for (const tag of tags.elements ?? [tags])
        found.push({
          rule: textOf(tag),
          name: textOf(name),
          file,
          isSkipped,
          ...(requirement && { requirement: textOf(requirement) }),
        })
    for (const child of Object.values(node)) if (typeof child === 'object') visit(child, skips)
  }
  visit(parseAst(source, { lang: 'ts' }), false)
  return found
}

const SKIPPED = /^\w+\.(?:skip|todo)\b/
const calleeOf = ({ start, callee }, /** @type {string} */ source) => source.slice(start, callee.end)
