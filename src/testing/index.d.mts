// The types of import 'voucherctl/testing'.
import type { StartServer } from './types.js'

export type * from './types.js'
export declare const matches: typeof import('./match.js').matches
export declare const assertMatches: typeof import('./match.js').assertMatches
export declare const startServer: StartServer
