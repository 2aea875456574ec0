/**
 * Bundles a TypeScript program that runs as a separate process; the caller removes the file.
 * @returns path of the file
 */
export declare function bundleProgram(input: string, name: string): Promise<string>

/**
 * Runs the build script, which builds dist/ if a source is newer.
 * @param flags additional flags of the script
 * @throws Error when the package does not build
 */
export declare function buildPackage(...flags: string[]): void
