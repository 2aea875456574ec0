import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { endpoints } from '../../src/contract/index.js'
import { folder, home, node } from './installed.js'

const hasCurl = spawnSync('curl', ['--version']).status === 0

/** The runtime and console endpoints: sections A and C of the API specification. */
const walked = endpoints.filter(({ path }) => path.startsWith('/api/v1/open-platform/'))

test.skipIf(!hasCurl)(
  `curl gets the expected status from all endpoints${hasCurl ? '' : ': skipped, no curl'}`,
  async () => {
    const script = join(import.meta.dirname, 'curl-walk.sh')
    const bin = join(folder, 'node_modules', 'voucherctl', 'bin', 'voucherctl.js')
    const { stdout, stderr, exitCode } = await execa('bash', [script, node, bin], {
      env: { HOME: home, PATH: process.env.PATH ?? '' },
      extendEnv: false,
      stdin: 'ignore',
      reject: false,
    })
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 })
    for (const { method, path, status } of walked) {
      const called = `^${method} ${path.replaceAll(/:\w+/g, '[^/ ]+')}(\\?\\S*)? ${status}$`
      expect(stdout).toMatch(new RegExp(called, 'm'))
    }
  },
)
