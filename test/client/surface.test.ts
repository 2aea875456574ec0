import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/planting.js'
import { exportsOf, surfaceOf } from '../support/surface.js'

type Surface = ReturnType<typeof surfaceOf>

/** Names that a released version exported without a warning, and that are missing now. */
const withdrawn = (released: Surface, now: Surface) =>
  Object.entries(released).flatMap(([library, names]) =>
    Object.entries(names)
      .filter(([name, mark]) => mark !== 'deprecated' && !(name in (now[library] ?? {})))
      .map(([name]) => `${library}: ${name}`),
  )

const releases = join(root, 'test/vectors/releases')
const byNumbers = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true })
const last =
  readdirSync(releases)
    .filter((it) => /^\d/.test(it))
    .sort(byNumbers)
    .at(-1) ?? ''

test('libraries export every name of the last release, except those it marked @deprecated', () => {
  const released = JSON.parse(readFileSync(join(releases, last, 'surface.json'), 'utf8')) as Surface
  expect(Object.keys(released)).toEqual(['client', 'secure', 'testing', 'webhook'])
  expect(released.client).toMatchObject({ createClient: 'exported', CallResult: 'exported' })
  expect(withdrawn(released, surfaceOf(join(root, 'src')))).toEqual([])
})

test('a name may be missing only if the last release marked it @deprecated', () => {
  const released = {
    client: exportsOf("export { kept, gone } from './a.js'\n/** @deprecated use kept */\nexport const old = 1"),
  }
  expect(released.client).toEqual({ gone: 'exported', kept: 'exported', old: 'deprecated' })
  expect(withdrawn(released, { client: exportsOf('export declare function kept(): void') })).toEqual(['client: gone'])
})

test.each([
  ['export type A = 1', { A: 'exported' }],
  ["export { a as b, type C } from './a.js'", { C: 'exported', b: 'exported' }],
  ['/** Says. */\nexport interface D {}', { D: 'exported' }],
  ['/** Of e. */\nconst e = 1\nexport { /** @deprecated */ e, f }', { e: 'deprecated', f: 'exported' }],
  [
    "/** @deprecated */\nexport {\n  g,\n} from './g.js'\nexport async function h() {}",
    { g: 'deprecated', h: 'exported' },
  ],
])('list of exported names of %j is complete', (text, names) => {
  expect(exportsOf(text)).toEqual(names)
})
