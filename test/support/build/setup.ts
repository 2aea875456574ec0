import { buildPackage } from './bundle.js'

/** Global set-up of the tests: builds the command line if a source file or the bundle has changed. */
export function setup(): void {
  buildPackage('--bundle')
}
