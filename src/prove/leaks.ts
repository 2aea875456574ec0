import type { Exit } from './process.js'
import type { Leak, Maker, Sent } from './record.js'

/** True if a text has a secret: a code also without its hyphens, and in lower case. */
function shows(text: string, secret: string): boolean {
  return text.includes(secret) || (CODE.test(secret) && formsOf(secret).some((it) => text.includes(it)))
}

const CODE = /^[0-9A-Z-]{12,40}$/
const formsOf = (code: string) => [code.replaceAll('-', ''), code.toLowerCase(), code.replaceAll('-', '').toLowerCase()]

/** Codes and QR tokens that the program itself had issued. */
const ownCodes = (calls: readonly Sent[]): string[] =>
  calls.flatMap(({ data }) => {
    const { credentials } = (data ?? {}) as { credentials?: readonly { readonly value: string }[] }
    return credentials?.map((it) => it.value) ?? []
  })

/** Finds secrets in what programs printed. The output of an app is a log; `--state` may hold codes of its own issues. */
export function leaksOf(
  exits: readonly { readonly exit: Exit; readonly maker: Maker }[],
  state: string | null,
  calls: readonly Sent[],
  secrets: Readonly<Record<string, string>>,
): Leak[] {
  const own = ownCodes(calls)
  const texts = [
    ...exits.flatMap(({ exit, maker }) => [
      { text: exit.stdout, where: `stdout of the ${maker}`, isLog: maker === 'app' },
      { text: exit.stderr, where: `stderr of the ${maker}`, isLog: true },
    ]),
    { text: state ?? '', where: 'the output of --state', isLog: undefined },
  ]
  const leaks = texts.flatMap(({ text, where, isLog }) => [
    ...Object.entries(secrets)
      .filter(([, secret]) => shows(text, secret))
      .map(([what]) => ({ what, where, isFinding: true })),
    ...(isLog !== undefined && own.some((it) => shows(text, it))
      ? [{ what: 'the code of a voucher that it issued', where, isFinding: isLog }]
      : []),
  ])
  return [...new Map(leaks.map((it) => [`${it.what} ${it.where}`, it])).values()]
}

export function redactAll(text: string, secrets: Readonly<Record<string, string>>): string {
  let shown = text
  for (const [what, secret] of Object.entries(secrets)) {
    for (const form of [secret, ...(CODE.test(secret) ? formsOf(secret) : [])])
      shown = shown.replaceAll(form, `[${what}]`)
  }
  return shown
}
