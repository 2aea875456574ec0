// The types of voucherctl/testing; the types of index.ts would include those of the whole server.
import type * as match from './match.js'
import type { StartServer } from './types.js'

export type * from './types.js'
export declare const matches: typeof match.matches
export declare const assertMatches: typeof match.assertMatches
export declare const startServer: StartServer
