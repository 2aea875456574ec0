import { readFileSync, rmSync } from 'node:fs'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sampleOf } from '../support/extent.js'
import { readMistakes } from '../support/planting.js'
import { bundleSimulation } from './bundle.js'

/** `VOUCHERCTL_SIMULATIONS=1000` runs more simulations; `VOUCHERCTL_SEED` is the first seed. */
const { VOUCHERCTL_SIMULATIONS: count, VOUCHERCTL_SEED: first = 1 } = process.env
const seedsOf = (length: number) => Array.from({ length }, (_, index) => Number(first) + index)
const seeds = count === undefined ? sampleOf(seedsOf(3)) : seedsOf(Number(count))

const ACTIONS = 20

const defects = readMistakes('test/simulation/defects.txt')

let file: string
let simulate: typeof import('./simulate.js')['simulate']

beforeAll(async () => {
  file = await bundleSimulation('simulate', 'simulation-test')
  ;({ simulate } = (await import(pathToFileURL(file).href)) as typeof import('./simulate.js'))
})

afterAll(() => rmSync(file))

it.each(seeds)('server keeps every rule in the simulation with seed %i', async (seed) => {
  const { violations, attempts } = await simulate(seed, ACTIONS)
  expect(violations).toEqual([])
  expect(attempts).toBeGreaterThan(0)
})

it('simulation repeats the same steps from its seed', async () => {
  const [one, same, other] = [await simulate(7, 4), await simulate(7, 4), await simulate(8, 4)]
  expect(same).toEqual(one)
  expect(other.steps).not.toBe(one.steps)
})

describe.each(defects.map((it, index) => [index + 1, it.name, it] as const))('defect %i, %s', (_n, _name, defect) => {
  it('planted defect of the simulation replaces a text that its source file has exactly once', () => {
    const source = readFileSync(new URL(`../../${defect.file}`, import.meta.url), 'utf8')
    expect(source.split(defect.from)).toHaveLength(2)
    expect(defect.to).not.toBe(defect.from)
  })
})
