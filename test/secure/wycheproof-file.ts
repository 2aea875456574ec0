import { readFileSync } from 'node:fs'

export interface WycheproofCase {
  readonly tcId: number
  readonly comment: string
  readonly result: 'valid' | 'invalid' | 'acceptable'
}

export interface WycheproofFile<Test, Group = object> {
  readonly numberOfTests: number
  readonly testGroups: readonly (Group & { readonly tests: readonly (WycheproofCase & Test)[] })[]
}

export function loadWycheproof<Test, Group = object>(name: string): WycheproofFile<Test, Group> {
  return JSON.parse(readFileSync(new URL(`../vectors/wycheproof/${name}_test.json`, import.meta.url), 'utf8'))
}
