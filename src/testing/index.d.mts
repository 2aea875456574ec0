// The types of import 'voucherctl/testing'.
import type { StartServer } from './types.js'

export type * from './types.js'
export declare const startServer: StartServer
