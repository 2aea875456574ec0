import type { Mistake } from '../support/planting.js'

/**
 * Bundles a program of this folder with the server; the caller removes the file.
 * @param name of the file
 * @param defect is planted in the server
 * @returns path of the file
 */
export declare function bundleSimulation(program: 'main' | 'simulate', name: string, defect?: Mistake): Promise<string>
