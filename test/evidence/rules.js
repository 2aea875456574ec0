import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('../../src/contract/rules/', import.meta.url)

/** The anchor that GitHub generates for a heading. */
export const anchorOf = (/** @type {string} */ heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** Matches a heading, or a rule with its number, origin and sentences. */
const LINE = /^(?:## (.+)|(\d+)\. \*(specified|decided)\* (.+))$/gm

/**
 * All rules of src/contract/rules/. The id of a rule is the anchor of its heading and its number, such as `lists/2`.
 * @returns {import('./rules.js').Rule[]}
 */
export function readRules() {
  return readdirSync(folder).flatMap((file) => {
    const text = readFileSync(new URL(file, folder), 'utf8')
    const chapter = text.slice(2, text.indexOf('\n'))
    let anchor = ''
    return [...text.matchAll(LINE)].flatMap(([, heading, number, origin, sentence]) => {
      if (heading !== undefined) anchor = anchorOf(heading)
      return heading === undefined ? [{ id: `${anchor}/${number}`, chapter, origin, sentence }] : []
    })
  })
}
