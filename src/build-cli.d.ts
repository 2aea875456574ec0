/** Bundles the command line and the server into cli/, chunks/ and server/ of a folder; answers esbuild's metafiles. */
export function buildCommandLine(outdir: string): Promise<{ inputs: Record<string, unknown> }[]>
