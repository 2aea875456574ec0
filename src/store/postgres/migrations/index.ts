import { initial } from './0001-initial.js'

/** In their order; the schema version is how many have run. Forward only: a released one never changes. */
export const migrations: readonly { readonly name: string; readonly sql: string }[] = [
  { name: '0001-initial', sql: initial },
]
