import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closedPort } from '../support/closed-port.js'
import { folder, installed, node } from './installed.js'

/** Documents of the package, with patterns that the output of their code blocks must match. */
type Documents = Readonly<Record<string, readonly RegExp[]>>

/**
 * Run by webhook-servers.test.ts (programs that import other packages, and their module), ci.test.ts and
 * test/cli/commands/server/running-guide.slow.test.ts.
 */
const runByOtherTest = [
  'receive.mjs',
  'express.mjs',
  'fastify.mjs',
  '.github/workflows/test.yaml',
  'prometheus.yaml',
  'alerts.yaml',
]
/** Languages of files outside the project, which tests of the server and the store use. */
const systemFiles = ['ini', 'nginx']
/** Languages of samples without a file name, which test/webhook/guide-samples.slow.test.ts runs. */
const samples = ['python', 'go']

const textOf = (document: string) => readFileSync(join(installed, document), 'utf8')
const blocksOf = (document: string) =>
  [...textOf(document).matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', block = '']) => ({
    language,
    block,
    /** File name in a comment on the first line of a program or a scenario. */
    file: /^(?:\/\/|#) (\S+\.\w+)\n/.exec(block)?.[1],
  }))

/** Skip installation commands, because .ci/run has installed the package. */
const isRun = (block: string) => !block.includes('npm ')

/**
 * A script of all code blocks in order, which writes the files and runs the commands. Blocks of one file are written
 * before the first command that names it.
 */
function scriptOf(document: string): string {
  const blocks = blocksOf(document)
  return blocks
    .map(({ language, block, file }, at) => {
      if (systemFiles.includes(language)) return ''
      if (file === undefined) return language === 'sh' && isRun(block) ? block : ''
      if (blocks.findIndex((it) => it.file === file) !== at) return ''
      const parts = blocks.filter((it) => it.file === file).map((it) => it.block)
      return `mkdir -p $(dirname ${file})\ncat > ${file} <<'END_OF_FILE'\n${parts.join('')}END_OF_FILE\n`
    })
    .join('')
}

/** Runs the code blocks of documents, and checks their links. */
export function testDocuments(documents: Documents): void {
  let bin: string

  beforeAll(() => {
    bin = mkdtempSync(join(folder, 'bin-'))
    // `node` and `voucherctl` in the scripts must use the Node binary under test.
    for (const [name, line] of [
      ['node', `exec '${node}' "$@"`],
      ['voucherctl', `exec '${node}' '${join(installed, 'bin', 'voucherctl.js')}' "$@"`],
    ] as const) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 })
    }
  })
  afterAll(() => rmSync(bin, { recursive: true, force: true }))

  describe.each(Object.entries(documents))('%s', (document, printed) => {
    // Programs in a subfolder of the installation can import voucherctl.
    const home = join(folder, `home-${document.replaceAll(/\W/g, '-')}`)
    const bash = (script: string) =>
      execa('bash', ['-euo', 'pipefail', '-c', script], {
        cwd: home,
        env: { HOME: home, PATH: `${bin}:${process.env.PATH ?? ''}` },
        extendEnv: false,
        stdin: 'ignore',
        reject: false,
      })

    beforeAll(() => mkdirSync(home, { recursive: true }))
    afterAll(async () => {
      await bash('voucherctl server stop || true')
      rmSync(home, { recursive: true, force: true })
    })

    test('every code block of the page is a command, a named file or text', () => {
      for (const { language, block, file } of blocksOf(document)) {
        expect(['sh', 'shell', 'text', 'js', 'mjs', 'yaml', ...samples, ...systemFiles], block).toContain(language)
        if (['sh', 'shell', 'text', ...samples, ...systemFiles].includes(language)) continue
        expect(file, block).toBeDefined()
        const name = file as string
        const commands = blocksOf(document).filter((it) => it.language === 'sh')
        expect(runByOtherTest.includes(name) || commands.some((it) => it.block.includes(name)), name).toBe(true)
      }
    })

    test('the code blocks of the page run in order and print the expected output', async () => {
      const [port, appPort] = [await closedPort(), await closedPort()]
      const script = scriptOf(document)
        .replaceAll(/server start(?!.*--port)/g, 'server start --port 0')
        // All variants would take most of a minute.
        .replaceAll('prove -- ', "prove --only 'vouchers.redeem#1/hang' -- ")
        .replaceAll('8787', String(port))
        .replaceAll(/3000|9100/g, String(appPort))
      const { stdout, stderr, exitCode } = await bash(script)
      expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' })
      for (const pattern of printed) expect(stdout).toMatch(pattern)
    })

    test('the links of the page to files of the package are valid', () => {
      const links = [...textOf(document).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) => link)
      expect(links.filter((link) => !existsSync(join(installed, document, '..', link)))).toEqual([])
    })
  })
}
