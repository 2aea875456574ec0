// The types of require('voucherctl/testing').
import type { StartServer } from './types.js' with { 'resolution-mode': 'import' }

export type * from './types.js' with { 'resolution-mode': 'import' }
export declare const matches: typeof import('./match.js', { with: { 'resolution-mode': 'import' }}).matches
export declare const assertMatches: typeof import('./match.js', { with: { 'resolution-mode': 'import' }}).assertMatches
export declare const startServer: StartServer
