import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { onTestFinished } from 'vitest'
import { built } from './built-cli.js'
import { temporaryDir } from './cli.js'

/** A result of a tool as a test reads it. */
export interface ToolResult {
  readonly isError: boolean
  readonly text: string
  readonly data: unknown
  readonly source: string
  readonly cut: boolean
  readonly next: readonly { readonly tool: string; readonly arguments: Record<string, unknown> }[]
}

interface Given {
  readonly home?: string
  readonly env?: Readonly<Record<string, string>>
}

type CallOptions = NonNullable<Parameters<Client['callTool']>[1]>

/** The library ends a request after a minute, in which a busy machine may not start the process. */
const patient: CallOptions = { timeout: 240_000 }

/** Starts the built `mcp serve` with the client of the protocol library; it ends with the test. */
export async function mcpClient(args: readonly string[] = [], { home = temporaryDir(), env = {} }: Given = {}) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [built.bin, 'mcp', 'serve', ...args],
    env: built.environment(home, env) as Record<string, string>,
    cwd: home,
    stderr: 'ignore',
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport, patient)
  onTestFinished(() => client.close())
  return {
    client,
    home,
    pid: transport.pid as number,
    async call(name: string, input: Record<string, unknown> = {}, options?: CallOptions): Promise<ToolResult> {
      const called = await client.callTool({ name, arguments: input }, { ...patient, ...options })
      const { isError = false, content, structuredContent } = called
      const [block] = content as { text: string }[]
      return { isError, text: block?.text ?? '', ...(structuredContent as Omit<ToolResult, 'isError' | 'text'>) }
    },
  }
}

export type McpClient = Awaited<ReturnType<typeof mcpClient>>

/** A process that has ended cannot be signalled; null if it still runs after the wait. */
export async function hasEnded(pid: number): Promise<boolean> {
  const { isAlive } = await import('../../../src/files/process-alive.js')
  for (let turn = 0; turn < 10_000 && isAlive(pid); turn += 1) await new Promise((resolve) => setTimeout(resolve, 10))
  return !isAlive(pid)
}
