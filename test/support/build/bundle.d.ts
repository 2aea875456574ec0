import type { Plugin } from 'rolldown'

/**
 * Bundles a TypeScript program so that a test can run it as a separate process; the caller removes the file.
 * @returns path of the file
 */
export declare function bundleProgram(input: string, name: string, plugins?: Plugin[]): Promise<string>

/**
 * Runs the build script, which builds dist/ if a source file is newer than dist/.
 * @param flags additional flags of the script
 * @throws Error if the build fails
 */
export declare function buildPackage(...flags: string[]): void
