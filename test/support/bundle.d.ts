/**
 * Bundles a TypeScript program for a process of its own; whoever calls removes the file.
 * @returns path of the file
 */
export declare function bundleProgram(input: string, name: string): Promise<string>
