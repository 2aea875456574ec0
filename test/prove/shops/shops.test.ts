import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { placeShop, shopFindings, shops } from './shops.js'

const here = fileURLToPath(new URL('.', import.meta.url))

test('lists each program of the folder once: six right ones and 24 with a mistake', () => {
  const files = ['right', 'wrong'].map((kind) => readdirSync(`${here}${kind}`).map((it) => it.replace(/\.[a-z]+$/, '')))
  const names = ['right', 'wrong'].map((kind) => shops.filter((it) => it.kind === kind).map(({ name }) => name))
  expect(names.map((it) => it.toSorted())).toEqual(files.map((it) => it.toSorted()))
  expect(names.map((it) => it.length)).toEqual([6, 24])
})

test('has a program with a mistake for each finding, and none for a right program', () => {
  const found = new Set(shops.filter((it) => it.kind === 'wrong').map(({ finding }) => finding))
  expect([...found].toSorted()).toEqual(shopFindings.toSorted())
  expect(shops.filter((it) => it.kind === 'right').every(({ finding }) => finding === null)).toBe(true)
})

test('begins each program with one sentence that describes it', () => {
  for (const kind of ['right', 'wrong']) {
    for (const file of readdirSync(`${here}${kind}`)) {
      const lines = readFileSync(`${here}${kind}/${file}`, 'utf8').split('\n')
      const first = lines[0]?.startsWith('#!') ? lines[1] : lines[0]
      expect(first, file).toMatch(/^(?:\/\/|#) [A-Z].{30,}\.$/)
    }
  }
})

test('puts folder and port into the texts of a shop', () => {
  const app = shops.find(({ name }) => name === 'app')
  const { reset, ready, command, finding } = placeShop(app as (typeof shops)[number], { dir: '/tmp/x', port: 4000 })
  expect([reset, ready, finding]).toEqual(['rm -rf /tmp/x/shop', 'http://127.0.0.1:4000/health', null])
  expect(command.join(' ')).toContain('http://127.0.0.1:4000/checkout')
})
