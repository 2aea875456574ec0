import { readdirSync } from 'node:fs'
import { readMistakes, replaceOnce, root } from '../support/planting.js'

const folder = 'test/evidence/deviations/'

/** Changes of the source, each of which breaks a statement of a rule, the first word of its head. */
export const readDeviations = () =>
  readdirSync(root + folder).flatMap((name) =>
    readMistakes(folder + name).map(({ name: rule, ...change }, at) => ({ id: `${name}:${at + 1}`, rule, ...change })),
  )

/** Plants the deviation of an id while Vite transforms its file, which no cache may keep. */
export const planting = (/** @type {string} */ wanted) => {
  const deviation = readDeviations().find(({ id }) => id === wanted)
  if (deviation === undefined) throw new Error(`There is no deviation ${wanted} in ${folder}`)
  const isPlanted = (/** @type {string} */ path) => path === root + deviation.file
  return {
    name: 'planting',
    enforce: /** @type {const} */ ('pre'),
    configureVitest: ({ experimental_defineCacheKeyGenerator: define }) =>
      define(({ id }) => (isPlanted(id) ? false : undefined)),
    transform: (/** @type {string} */ source, /** @type {string} */ path) =>
      isPlanted(path) ? replaceOnce(source, deviation) : undefined,
  }
}
