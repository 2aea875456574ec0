import type { Group, Leaf } from '../../command/leaf.js'

/** @param guides names of the guides, which are resources */
export function mcp(guides: readonly string[]): Group {
  let serve: Leaf | undefined
  return {
    name: 'mcp',
    summary: 'Tools for models over the Model Context Protocol: serve, install, tools',
    // Loaded one by one: a client waits for the start of `serve`.
    commands: [
      { name: 'serve', load: async () => (serve ??= (await import('./serve.js')).serve(guides)) },
      { name: 'install', load: async () => (await import('./install.js')).install },
      { name: 'tools', load: async () => (await import('./list.js')).list },
    ],
  }
}
