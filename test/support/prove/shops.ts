import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DisturbanceName, disturbances, type Variant, variantIn } from '../../../src/prove/disturbances.js'
import { commandOf } from '../../../src/prove/process.js'
import { factsOf } from '../../../src/prove/prove.js'
import type { Outcome } from '../../../src/prove/record.js'
import { Runner } from '../../../src/prove/runner.js'
import { wordsOf } from '../../../src/prove/words.js'
import { placeShop, type Shop } from '../../prove/shops/shops.js'
import { closedPort } from '../closed-port.js'

/** Disturbances that the list of shops names by one word. */
const groups: Readonly<Record<string, readonly DisturbanceName[]>> = {
  status: ['status_429'],
  refused: ['refused_404', 'refused_409'],
  kill: ['kill_committed', 'kill_answered'],
}

/** The variants in which the list of shops expects the mistake of a shop; none if every run shows it. */
export function variantsOfShop({ at, disturbances: kinds = [] }: Shop): Variant[] {
  if (at === undefined) return []
  // A shop has one delivery of the type that the list names.
  const subject = at.startsWith('vouchers.') ? at : 'deliveries#1'
  const names = kinds.flatMap((it) => (subject.startsWith('deliveries') ? [it] : (groups[it] ?? [it])))
  return names.map((it) => variantIn(`${subject}/${it}`)).filter((it) => it !== undefined)
}

/** Does something with a shop that has a folder and a port of its own. */
export async function withPlacedShop<T>(
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
export function argumentsOf(shop: Shop, ...flags: readonly string[]): string[] {
  const names = ['app', 'ready', 'state', 'reset', 'webhook'] as const
  const own = names.flatMap((name) => (shop[name] === undefined ? [] : [`--${name}`, shop[name]]))
  return ['prove', ...own, ...flags, '--', ...shop.command]
}

/** Runs a shop undisturbed twice, then each variant; returns the outcomes and what the judge knows. */
export function recordShop(shop: Shop, variants: readonly Variant[], signal: AbortSignal) {
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
      signal,
    })
    try {
      const settings = { again: 1, patienceMs: 60_000 }
      const trials = [await runner.run(undefined, settings), await runner.run(undefined, settings)] as const
      const outcomes: Outcome[] = []
      for (const it of variants) outcomes.push(await runner.run(it, settings))
      return { trials, outcomes, facts: factsOf(trials, outcomes) }
    } finally {
      await runner.close()
    }
  })
}
