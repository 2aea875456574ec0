import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('without-globals.cjs', import.meta.url))
const names = [
  ...[
    'AbortController',
    'AbortSignal',
    'Blob',
    'Buffer',
    'DOMException',
    'Event',
    'EventTarget',
    'FormData',
    'Headers',
  ],
  ...[
    'MessageChannel',
    'ReadableStream',
    'Request',
    'Response',
    'TextDecoder',
    'TextEncoder',
    'URL',
    'URLSearchParams',
  ],
  ...[
    'WebSocket',
    'atob',
    'btoa',
    'clearImmediate',
    'crypto',
    'fetch',
    'performance',
    'queueMicrotask',
    'setImmediate',
  ],
  'structuredClone',
]

test.each([
  ['without the globals that jsdom and happy-dom lack or replace', names],
  ['in a realm that has other classes and no global of Node', ['--realm']],
])('libraries sign, call, encrypt and serve %s', async (_, args) => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...args])
  expect(stdout + stderr).toBe('')
})
