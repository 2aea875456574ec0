/**
 * Bundles a TypeScript program for a process of its own; whoever calls removes the file.
 * @returns path of the file
 */
export declare function bundleProgram(input: string, name: string): Promise<string>

/**
 * Runs the build script, which builds dist/ when a source is newer.
 * @param flags further flags of the script
 * @throws Error when the package does not build
 */
export declare function buildPackage(...flags: string[]): void
