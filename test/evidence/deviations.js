import { readdirSync } from 'node:fs'
import { readMistakes, replaceOnce, root } from '../support/planting.js'

const folder = 'test/evidence/deviations/'

/** Changes of the source, each of which breaks a statement of a rule, the first word of its head. */
export const readDeviations = () =>
  readdirSync(root + folder).flatMap((name) =>
    readMistakes(folder + name).map(({ name: rule, ...change }, at) => ({ id: `${name}:${at + 1}`, rule, ...change })),
  )

/** Plants a deviation while Vite transforms its file. */
export const planting = (/** @type {import('./deviations.js').Deviation} */ deviation) => ({
  name: 'planting',
  enforce: /** @type {const} */ ('pre'),
  transform: (/** @type {string} */ source, /** @type {string} */ path) =>
    path === root + deviation.file ? replaceOnce(source, deviation) : undefined,
})
