import { execFile, spawnSync } from 'node:child_process'

/** Whether this shell is installed. */
export const hasShell = (shell: string) => spawnSync(shell, ['--version'], { stdio: 'ignore' }).status === 0

export const nameOf = (shell: string) => (hasShell(shell) ? shell : `${shell} (not on this machine)`)

export interface Session {
  readonly home: string
  readonly env: NodeJS.ProcessEnv
  /** Path of the completion script under test. */
  readonly script: string
}

/** Runs a program and returns its output lines; asynchronous, so that servers of this process can respond. */
function run(program: string, args: readonly string[], { home, env }: Session, input = ''): Promise<string[]> {
  return new Promise((resolve) => {
    const child = execFile(program, args, { cwd: home, env }, (_error, stdout) => resolve(stdout.split('\n')))
    // A shell that gets its script by an argument may end before it has the input.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

/** Types lines into an interactive bash, where `\t` is the Tab key; returns what the fake voucherctl printed. */
export async function bash(lines: readonly string[], session: Session): Promise<string[]> {
  const input = [`. ${session.script}`, ...lines, ''].join('\n')
  const out = await run('bash', ['--noprofile', '--norc', '-i'], session, input)
  return out.filter((it) => it.startsWith('ran:'))
}

/** Returns the candidates, with summaries, that fish offers for a line. */
export async function fish(line: string, session: Session): Promise<string[]> {
  const code = 'source $argv[1]; complete -C $argv[2]'
  const out = await run('fish', ['--no-config', '-c', code, session.script, line], session)
  return out.filter((it) => it !== '')
}

/** Types each line and Tab into an interactive zsh on a pseudo-terminal (zpty). */
export async function zsh(
  lines: readonly string[],
  session: Session,
): Promise<{ line: string; shown: readonly string[] }[]> {
  const out = await run('zsh', ['-f', '-c', zshDriver, 'driver', session.script, ...lines], session)
  return out
    .join('\n')
    .split('<<end>>\n')
    .slice(0, -1)
    .map((block) => {
      const [line = '', ...shown] = block.trimEnd().split('\n')
      return { line, shown }
    })
}

const zshDriver = `
zmodload zsh/zpty
script=$1; shift
out=$PWD/zsh.out; setup=$PWD/zsh.setup; : > $out
cat > $setup <<'SETUP'
PROMPT=''; RPROMPT=''; unsetopt zle_bracketed_paste 2>/dev/null; unset zle_bracketed_paste
autoload -Uz compinit; compinit -u -D
LISTMAX=0
compadd() { [[ \${argv[(r)shown]} == shown ]] && offered=("\${(@)shown}"); builtin compadd "$@" }
tell() {
  offered=(); zle complete-word
  { print -r -- "$BUFFER"; (( $#offered )) && print -rl -- "\${(@)offered}"; print -r -- '<<end>>' } >> $OUT
  BUFFER=''
  print -r -- told
}
zle -N tell; bindkey '^T' tell
SETUP
zpty z env OUT=$out zsh -f -i
zpty -w z "source $setup; source $script; print rea''dy"
zpty -r z answer '*ready*'
for line; do
  zpty -n -w z "$line"$'\\x14'
  zpty -r z answer '*told*'
done
zpty -d z
cat $out
`
