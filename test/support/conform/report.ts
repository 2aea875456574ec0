import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { cli, type Ran } from '../cli/cli.js'
import { closedPort } from '../closed-port.js'
import { startReference } from './conform.js'

const home = mkdtempSync(join(tmpdir(), 'voucherctl-conform-'))

/**
 * Runs `conform` against a platform before its own reference, because an account has at most 20 bots.
 * @param start returns the address of the platform
 */
export async function reportOn(
  start: (reference: string) => Promise<string>,
  only: readonly string[],
  { maxWait = '5s', more = [] }: { readonly maxWait?: string; readonly more?: readonly string[] } = {},
): Promise<Ran> {
  const { baseUrl, offer, close } = await startReference()
  const { credentials, template = '', botId = '', chat = '' } = offer
  const env = {
    VOUCHERCTL_BASE_URL: await start(baseUrl),
    VOUCHERCTL_TOKEN: credentials.token ?? '',
    VOUCHERCTL_JWT: credentials.jwt ?? '',
    VOUCHERCTL_BOT_TOKEN: credentials.bot ?? '',
  }
  const resources = ['--template', template, '--bot', botId, '--chat', chat]
  const receiver = ['--webhook-url', `http://127.0.0.1:${await closedPort()}`]
  const limits = ['--quota', '1000', '--rate', '1000', '--max-wait', maxWait]
  const ran = await cli(['conform', '--only', only.join(','), ...resources, ...receiver, ...limits, ...more], {
    env,
    home,
  })
  await close()
  return ran
}

/** Removes the home folder of the runs at the end of a test file. */
export const removeHome = () => afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Probes of the differences, in the order of the report. */
export const differencesIn = ({ stdout }: Ran): string[] =>
  [...stdout.matchAll(/^✗ ([a-z0-9-]+\/\S+)$/gm)].map(([, probe = '']) => probe)

/** Lines of the report before the one that first names a rule; undefined if none does. */
export function linesBefore({ stdout }: Ran, rule: string): string[] | undefined {
  const lines = stdout.split('\n')
  const at = lines.findIndex((line) => ` ${line}`.includes(` ${rule} (`))
  return at < 0 ? undefined : lines.slice(0, at)
}
