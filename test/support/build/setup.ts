import { buildPackage } from './bundle.js'

/** Global set-up of the tests: builds the command line if a source file is newer than the bundle. */
export function setup(): void {
  buildPackage('--bundle')
}
