import type { Out } from '../host/host.js'

export interface Paint {
  done(text: string): string
  error(text: string): string
  hint(text: string): string
  quiet(text: string): string
  strong(text: string): string
  status(word: string): string
}

const asIs = (text: string) => text
const noPaint: Paint = { done: asIs, error: asIs, hint: asIs, quiet: asIs, strong: asIs, status: asIs }

/** Decides about colour by --no-color, NO_COLOR, FORCE_COLOR or TERM=dumb, otherwise by whether it is a terminal. */
export function isColoured(out: Out, env: Readonly<Record<string, string | undefined>>, noColor: boolean): boolean {
  if (noColor || env.NO_COLOR) return false
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  return out.isTTY === true && env.TERM !== 'dumb'
}

/** Loads the colour functions; chalk itself only for coloured output. */
export async function loadPaint(coloured: boolean): Promise<Paint> {
  if (!coloured) return noPaint
  const { Chalk } = await import('chalk')
  const chalk = new Chalk({ level: 1 })
  const good = ['active', 'issued', 'succeeded', 'approved', 'true', 'yes']
  const bad = ['rejected', 'revoked', 'suspended', 'disabled', 'expired', 'false']
  return {
    done: (it) => chalk.green(it),
    error: (it) => chalk.red.bold(it),
    hint: (it) => chalk.cyan(it),
    quiet: (it) => chalk.dim(it),
    strong: (it) => chalk.bold(it),
    status: (it) => (good.includes(it) ? chalk.green(it) : bad.includes(it) ? chalk.red(it) : chalk.yellow(it)),
  }
}
