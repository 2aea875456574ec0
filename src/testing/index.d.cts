// The types of require('voucherctl/testing').
import type { StartServer } from './types.js' with { 'resolution-mode': 'import' }

export type * from './types.js' with { 'resolution-mode': 'import' }
export declare const startServer: StartServer
