import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { anchorOf } from '../evidence/rules.js'

/**
 * Tests that every file, heading and export named in a comment or linked in a document exists,
 * and that names of tests are short.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const within = (folder: string, ending: RegExp) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => posix.join(folder, path.replaceAll('\\', '/')))
    .filter((path) => ending.test(path))

const sources = ['src', 'test', 'bin'].flatMap((folder) => within(folder, /\.(?:[cm]?[jt]s|tsx|sh)$/))
const documents = [
  ...readdirSync(root).filter((path) => path.endsWith('.md')),
  ...['src', 'test', '.github'].flatMap((folder) => within(folder, /\.md$/)),
]

const anchorsOf = (document: string) => {
  const text = document.replace(/^```[\s\S]*?^```/gm, '')
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
}

/** Anchors of the rules, and of the chapter in each file, by path in `src/contract/`. */
const rules = new Map(
  within('src/contract/rules', /\.md$/).map((path) => [path.replace('src/contract/', ''), anchorsOf(read(path))]),
)

/** Why a citation in a source file, a document with or without an anchor, is broken; undefined if it is not. */
function brokenCitation(citation: string): string | undefined {
  const [path = '', anchor] = citation.split('#')
  // The build writes these.
  if (path.startsWith('dist/')) return undefined
  if (anchor === undefined) {
    const name = path.replace(/^(?:\.\.?\/)+/, '')
    return documents.some((it) => `/${it}`.endsWith(`/${name}`)) ? undefined : 'is not in the repository'
  }
  const anchors = rules.get(path)
  if (anchors === undefined) return 'must name a file of rules/'
  return anchors.includes(anchor) ? undefined : 'has no such heading'
}

// Citations are concatenated below, so that this file itself contains none that is broken.
const md = '.md'

const citation = /[\w./-]*\w\.md\b(?:#[\w-]+)?/g

const brokenCitationsOf = (file: string, text: string) =>
  [...text.matchAll(citation)].flatMap(([cited]) => {
    const reason = brokenCitation(cited)
    return reason === undefined ? [] : [`${file}: ${cited} ${reason}`]
  })

const comment = /\/\*[\s\S]*?\*\/|^\s*\/\/.*|\s\/\/ .*/gm
const sourceName = /(?<![\w@./'-])(?:[\w.-]+\/)*[\w-][\w.-]*\.(?:ts|js|cjs)\b/g
const sourceFiles = [...sources, ...readdirSync(root)].map((path) => `/${path}`)

/** Source files that do not exist although comments name them, in full or by the end of their path. */
const missingFilesOf = (file: string, text: string) =>
  [...text.matchAll(comment)]
    .flatMap(([it]) => [...it.matchAll(sourceName)])
    .flatMap(([name]) => {
      const ending = `/${name.replace(/^(?:\.\.?\/)+/, '')}`
      return sourceFiles.some((path) => path.endsWith(ending)) ? [] : [`${file}: ${name}`]
    })

const exportOf = (name: string) =>
  new RegExp(
    `^export (?:declare )?(?:async )?(?:function\\*?|class|const|let|interface|type) ${name}\\b|^export \\{[^}]*\\b${name}\\b`,
    'm',
  )

/** Why a link in a document is broken; undefined if it is not. */
function brokenLink(document: string, label: string, target: string): string | undefined {
  const [path = '', anchor] = target.split('#')
  const linked = path === '' ? document : posix.join(dirname(document), path)
  if (!existsSync(join(root, linked))) return 'does not exist'
  if (anchor !== undefined && !anchorsOf(read(linked)).includes(anchor)) return 'has no such heading'
  const [, name] = /^`(\w+)`$/.exec(label) ?? []
  return name === undefined || !linked.endsWith('.ts') || exportOf(name).test(read(linked))
    ? undefined
    : `does not export ${name}`
}

const link = /\[([^\]]*)\]\((?!https?:)([^)\s]+)\)/g

const brokenLinksOf = (document: string, text: string) =>
  [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(link)].flatMap(([, label = '', target = '']) => {
    const reason = brokenLink(document, label, target)
    return reason === undefined ? [] : [`${document}: ${target} ${reason}`]
  })

const testName = /(?:^ *(?:test|it)[\w.]*|[\])`])\(\s*(['"`])((?:\\.|(?!\1)[^\n])*)\1,/gm

test('every name of a test has at most 90 characters', () => {
  const names = within('test', /\.ts$/).flatMap((path) => [...read(path).matchAll(testName)].map(([, , it = '']) => it))
  expect(names.length).toBeGreaterThan(3_000)
  expect(names.filter((it) => it.length > 90)).toEqual([])
})

test('every document and heading that a source file cites exists', () => {
  expect(sources.flatMap((path) => brokenCitationsOf(path, read(path)))).toEqual([])
})

test('every source file named in a comment exists', () => {
  expect(sources.flatMap((path) => missingFilesOf(path, read(path)))).toEqual([])
  const missing = ['b/no-such-file', 'ts'].join('.')
  expect(missingFilesOf('src/a.ts', `/** See ${missing}. */`)).toEqual([`src/a.ts: ${missing}`])
})

test('every document named in a document is in the repository', () => {
  const withoutLinks = (text: string) => text.replace(link, '')
  expect(
    documents.flatMap((path) => brokenCitationsOf(path, withoutLinks(read(path)).replace(/#[\w-]+/g, ''))),
  ).toEqual([])
})

test('every file, heading and export that a document links exists', () => {
  expect(documents.flatMap((path) => brokenLinksOf(path, read(path)))).toEqual([])
})

test('the rules have each anchor once, and mark each rule of at most 60 words', () => {
  const anchors = [...rules.values()].flat()
  expect(anchors.filter((anchor, at) => anchors.indexOf(anchor) !== at)).toEqual([])
  const entries = [...rules.keys()]
    .flatMap((path) => read(`src/contract/${path}`).split('\n'))
    .filter((it) => /^\S/.test(it) && !it.startsWith('#'))
  expect(entries.filter((it) => !/^\d+\. \*(?:specified|decided)\* /.test(it) || wordsOf(it) > 62)).toEqual([])
})

const wordsOf = (text: string) => text.split(/\s+/).filter((it) => it !== '').length

test('documents stay short enough to be read', () => {
  const words = documents
    .filter((it) => it !== 'CHANGELOG.md' && !it.startsWith('test/vectors/'))
    .map((path): [string, number] => [path, wordsOf(read(path))])
  expect(words.filter(([, count]) => count > 2_500)).toEqual([])
  expect(words.reduce((sum, [, count]) => sum + count, 0)).toBeLessThanOrEqual(29_900)
  expect(Buffer.byteLength(read('README.md'))).toBeLessThanOrEqual(8_192)
})

test('source files cite every rule; src/README.md links more than 20 exports', () => {
  const cited = new Set(within('src', /\.ts$/).flatMap((path) => [...read(path).matchAll(citation)].map(([it]) => it)))
  const headings = [...rules].flatMap(([path, [, ...anchors]]) => anchors.map((it) => `${path}#${it}`))
  // The rule `versions` is about later changes of API v1, so no source file can cite it yet.
  expect(headings.filter((it) => !cited.has(it))).toEqual([`rules/calls${md}#versions`])
  expect([...read('src/README.md').matchAll(/\[`\w+`\]\([^)]+\.ts\)/g)].length).toBeGreaterThan(20)
})

test.each([
  [`the law of interface${md}`, 'is not in the repository'],
  [`see contract/rules/calls${md}#times`, 'must name a file of rules/'],
  [`(RULES${md}#times)`, 'must name a file of rules/'],
  [`rules/calls${md}#time`, 'has no such heading'],
  [`rules/callers${md}#times`, 'has no such heading'],
])('citation check reports the citation in %j as broken', (text, reason) => {
  expect(brokenCitationsOf('src/a.ts', text)).toEqual([expect.stringContaining(reason)])
})

test.each([
  [`[times](contract/rules/callers${md}#times)`, 'has no such heading'],
  ['[a room](nowhere/a.ts)', 'does not exist'],
  ['[`failure`](contract/errors.ts)', 'does not export failure'],
  ['[`rule`](contract/errors.ts)', 'does not export rule'],
])('link check reports the link %j of src/README.md as broken', (text, reason) => {
  expect(brokenLinksOf(`src/README${md}`, text)).toEqual([expect.stringContaining(reason)])
})

test.each([
  '[`failures`](contract/errors.ts)',
  `[times](contract/rules/calls${md}#times)`,
  '[a](https://example.com/x)',
])('link check accepts the link %j of src/README.md', (text) =>
  expect(brokenLinksOf(`src/README${md}`, text)).toEqual([]),
)
