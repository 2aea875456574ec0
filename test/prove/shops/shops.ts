import { fileURLToPath } from 'node:url'

/** Findings of `voucherctl prove`. */
export const shopFindings = [
  'goods_given_away',
  'voucher_lost',
  'issue_missing',
  'issue_orphaned',
  'redeemed_twice',
  'issued_twice',
  'new_key',
  'changed_body',
  'retry_storm',
  'retried_refusal',
  'forged_accepted',
  'delivery_counted_twice',
  'delivery_dropped',
  'secret_shown',
  'stuck',
] as const
export type ShopFinding = (typeof shopFindings)[number]

/** A small program of a developer. In its texts `{dir}` stands for SHOP_DIR and `{port}` for SHOP_PORT. */
export interface Shop {
  readonly name: string
  readonly kind: 'right' | 'wrong'
  /** Command and arguments of the action. */
  readonly command: readonly string[]
  /** Long-running program beside the action, and the URL that responds when it is ready. */
  readonly app?: string
  readonly ready?: string
  readonly state?: string
  readonly reset?: string
  /** Bot and URL of the receiver. */
  readonly webhook?: string
  /** First finding of the report; null for a right program. */
  readonly finding: ShopFinding | null
  /** Variants that show the mistake, the finding being the first of each; absent for a right program. */
  readonly variants?: readonly string[]
}

const here = fileURLToPath(new URL('.', import.meta.url))

const interpreters: Readonly<Record<string, string>> = { mjs: 'node', py: 'python3', sh: 'bash', pl: 'perl' }

/** The interpreter and the path of a program of this folder. */
function programOf(file: string): [interpreter: string, path: string] {
  const interpreter = interpreters[file.split('.').at(-1) ?? '']
  if (interpreter === undefined) throw new Error(`No interpreter for ${file}`)
  return [interpreter, `${here}${file}`]
}

const nameOf = (file: string) => file.replace(/^.*\/|\.[a-z]+$/g, '')

/** An action that runs alone, with the order as its argument. */
const script = (file: string) => ({ name: nameOf(file), command: [...programOf(file), 'order-1'] })

/** A script with files of its own. */
const scriptWithFiles = (file: string) => ({ ...script(file), reset: 'rm -rf {dir}/shop' })

const checkout = 'curl -fsS --max-time 60 -X POST -d "$0" http://127.0.0.1:{port}/checkout'

/** A shop with a webhook, to which the action posts the form of its checkout. */
const shopWithWebhook = (file: string, form: string) => ({
  name: nameOf(file),
  command: ['bash', '-c', checkout.replace('$0', form)],
  app: programOf(file)
    .map((it) => `'${it}'`)
    .join(' '),
  ready: 'http://127.0.0.1:{port}/health',
  state: 'curl -fsS http://127.0.0.1:{port}/orders',
  reset: 'rm -rf {dir}/shop',
  webhook: 'coffee_bot=http://127.0.0.1:{port}/webhook',
})

const formWithCode = 'order=order-1&code=$VOUCHERCTL_CODE'

const right = { kind: 'right', finding: null } as const

/** A program with a planted mistake. @param kinds disturbances of `at` that show it, the finding being the first of each */
const wrong = (finding: ShopFinding, at: string, kinds: readonly string[]) => ({
  ...({ kind: 'wrong', finding } as const),
  variants: kinds.map((it) => `${at}/${it}`),
})

const redeem = 'vouchers.redeem#1'
const issue = 'vouchers.issue#1'
const delivery = 'deliveries#1'
const lost = ['drop_response', 'cut_body', 'silence']
const refused = ['refused_404', 'refused_409', 'revoked']
const kills = ['kill_committed', 'kill_answered']

/** Six right programs, and 24 with one planted mistake each, which the first line of each file describes. */
export const shops: readonly Shop[] = [
  { ...script('right/till-client.mjs'), ...right },
  { ...script('right/till-fetch.mjs'), ...right },
  { ...script('right/sold-out.py'), ...right },
  { ...script('right/kiosk.sh'), ...right },
  { ...shopWithWebhook('right/app.mjs', formWithCode), ...right },
  { ...script('right/import.py'), ...right },

  { ...script('wrong/timeout-is-success.py'), ...wrong('goods_given_away', redeem, ['hang']) },
  { ...script('wrong/redeemed-is-success.mjs'), ...wrong('goods_given_away', redeem, ['refused_409', 'taken']) },
  {
    ...script('wrong/status-unchecked.sh'),
    ...wrong('goods_given_away', redeem, ['error', 'status_429', ...refused, 'taken']),
  },
  { ...script('wrong/key-per-run.mjs'), ...wrong('voucher_lost', redeem, kills) },
  { ...script('wrong/verify-first.py'), ...wrong('voucher_lost', redeem, [...lost, ...kills]) },
  { ...script('wrong/failed-row-logged.mjs'), ...wrong('issue_missing', issue, refused) },
  {
    ...script('wrong/last-row-decides.sh'),
    ...wrong('issue_missing', issue, ['error', 'status_429', 'refused_404', 'refused_409']),
  },
  { ...scriptWithFiles('wrong/failed-forever.py'), ...wrong('issue_orphaned', issue, lost) },
  { ...script('wrong/next-coupon.py'), ...wrong('redeemed_twice', redeem, ['cut_body']) },
  { ...scriptWithFiles('wrong/remembered-too-late.mjs'), ...wrong('issued_twice', issue, [...kills, 'twins']) },
  { ...script('wrong/key-per-attempt.mjs'), ...wrong('new_key', redeem, lost) },
  { ...script('wrong/key-of-time.sh'), ...wrong('new_key', redeem, lost) },
  { ...script('wrong/sent-at.mjs'), ...wrong('changed_body', redeem, lost) },
  { ...script('wrong/process-in-body.py'), ...wrong('changed_body', redeem, kills) },
  { ...script('wrong/retries-early.py'), ...wrong('retry_storm', issue, ['error', 'status_429']) },
  { ...script('wrong/retries-refusals.pl'), ...wrong('retried_refusal', redeem, ['revoked', 'taken']) },
  { ...script('wrong/traced.sh'), ...wrong('secret_shown', issue, ['drop_response']) },
  {
    ...script('wrong/request-in-log.mjs'),
    ...wrong('secret_shown', redeem, ['error', 'status_429', ...lost, ...refused]),
  },
  { ...script('wrong/no-time-limit.mjs'), ...wrong('stuck', redeem, ['silence']) },
  {
    ...shopWithWebhook('wrong/stale-accepted.mjs', formWithCode),
    ...wrong('forged_accepted', delivery, ['stale']),
  },
  {
    ...shopWithWebhook('wrong/signature-logged.py', formWithCode),
    ...wrong('forged_accepted', delivery, ['forged']),
  },
  {
    ...shopWithWebhook('wrong/ids-ignored.mjs', formWithCode),
    ...wrong('delivery_counted_twice', delivery, ['duplicate']),
  },
  {
    ...shopWithWebhook('wrong/last-update-wins.py', 'order=order-1'),
    ...wrong('delivery_counted_twice', delivery, ['late']),
  },
  {
    ...shopWithWebhook('wrong/never-flushed.py', formWithCode),
    ...wrong('delivery_dropped', delivery, ['kill']),
  },
]

/** Returns a shop with its folder and its port in the place of `{dir}` and `{port}`. */
export function placeShop(shop: Shop, { dir, port }: { readonly dir: string; readonly port: number }): Shop {
  const place = (text: string) => text.replaceAll('{dir}', dir).replaceAll('{port}', String(port))
  const texts = Object.entries(shop).filter((it): it is [string, string] => typeof it[1] === 'string')
  const placed = Object.fromEntries(texts.map(([name, text]) => [name, place(text)]))
  return { ...shop, ...placed, command: shop.command.map(place) }
}
