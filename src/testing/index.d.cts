// The types of voucherctl/testing; the types of index.ts would include those of the whole server.
import type { StartServer } from './types.js'

export type * from './types.js'
export declare const startServer: StartServer
