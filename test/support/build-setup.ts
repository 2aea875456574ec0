import { buildPackage } from './bundle.js'

/** Bundles the command line once for all test files if a source is newer than the bundle. */
export function setup(): void {
  buildPackage('--bundle')
}
