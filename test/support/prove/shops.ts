import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ProvedByCommand } from '../../../src/cli/prove/lines.js'
import { type Variant, variantIn } from '../../../src/prove/disturbances.js'
import { commandOf } from '../../../src/prove/process.js'
import { eachRunIsAnOrder, factsOf } from '../../../src/prove/prove.js'
import type { Outcome } from '../../../src/prove/record.js'
import { Runner } from '../../../src/prove/runner.js'
import { wordsOf } from '../../../src/prove/words.js'
import { placeShop, type Shop } from '../../prove/shops/shops.js'
import { built } from '../cli/built-cli.js'
import { closedPort } from '../closed-port.js'

/** The variants in which the list of shops expects the mistake of a shop. */
export const variantsOfShop = ({ variants = [] }: Shop): Variant[] =>
  variants.map((it) => variantIn(it)).filter((it) => it !== undefined)

/** Does something with a shop that has a folder and a port of its own. */
async function withPlacedShop<T>(
  shop: Shop,
  work: (placed: Shop, dir: string, env: Record<string, string>) => Promise<T>,
): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'voucherctl-shop-'))
  try {
    const port = await closedPort()
    const env = { PATH: process.env.PATH ?? '', HOME: dir, SHOP_DIR: dir, SHOP_PORT: String(port) }
    return await work(placeShop(shop, { dir, port }), dir, env)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Flags of `voucherctl prove` for a shop, and its action. */
function argumentsOf(shop: Shop, ...flags: readonly string[]): string[] {
  const names = ['app', 'ready', 'state', 'reset', 'webhook'] as const
  const own = names.flatMap((name) => (shop[name] === undefined ? [] : [`--${name}`, shop[name]]))
  return ['prove', ...own, ...flags, '--', ...shop.command]
}

/** Runs the built command with a shop; fails if it prints no report. */
export function proveShop(shop: Shop, ...flags: readonly string[]) {
  return withPlacedShop(shop, async (placed, dir, env) => {
    const { exit, stdout, stderr } = await built.run(argumentsOf(placed, '--json', ...flags), dir, env)
    if (stdout === '') throw new Error(`prove printed no report of ${shop.name}, exit code ${exit}: ${stderr}`)
    return { exit, report: JSON.parse(stdout) as ProvedByCommand }
  })
}

/** Runs a shop undisturbed twice, then each variant; returns the outcomes and what the judge knows. */
export function recordShop(shop: Shop, variants: readonly Variant[]) {
  return withPlacedShop(shop, async (placed, dir, env) => {
    const start = (line: string | undefined) =>
      line === undefined ? undefined : commandOf(wordsOf(line) ?? [], dir, env)
    const app = start(placed.app)
    const [bot = '', url = ''] = placed.webhook?.split('=') ?? []
    const runner = await Runner.open({
      action: commandOf(placed.command, dir, env),
      app: app && { start: app, ready: new URL(placed.ready ?? '') },
      state: start(placed.state),
      reset: start(placed.reset),
      webhook: url === '' ? undefined : { bot, url: new URL(url) },
      variables: {},
      signal: new AbortController().signal,
    })
    try {
      const settings = { again: 1, patienceMs: 60_000, quietMs: 0 }
      const trials = [await runner.run(undefined, settings), await runner.run(undefined, settings)] as const
      const outcomes: Outcome[] = []
      for (const it of variants) outcomes.push(await runner.run(it, settings))
      const ordersDiffer = await eachRunIsAnOrder(runner, trials, settings)
      return { outcomes, facts: factsOf(trials, outcomes, ordersDiffer) }
    } finally {
      await runner.close()
    }
  })
}
