import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { closedPort } from './closed-port.js'
import { fileOfGuide, withReplaced } from './guide-files.js'
import type { Certificate } from './secure/certificates.js'
import { findProgram } from './system-programs.js'

export interface Nginx {
  readonly port: number
  /** Stops nginx and removes its files. */
  remove(): Promise<void>
}

/**
 * Starts nginx with the server block of the guide, on a free port of 127.0.0.1.
 * @param port port of the server behind it
 * @param administrators address that may call the operator API
 */
export async function startNginx(port: number, { cert, key }: Certificate, administrators: string): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'voucherctl-nginx-'))
  // As root, nginx serves as a user without rights, who needs access to the folder.
  chmodSync(folder, 0o755)
  const within = (name: string) => join(folder, name)
  writeFileSync(within('cert.pem'), cert)
  writeFileSync(within('key.pem'), key, { mode: 0o600 })
  const own = await closedPort()
  const site = withReplaced(fileOfGuide('running', '/etc/nginx/conf.d/voucherctl.conf'), {
    'listen 443': `listen 127.0.0.1:${own}`,
    '/etc/ssl/certs/vouchers.example.com.pem': within('cert.pem'),
    '/etc/ssl/private/vouchers.example.com.key': within('key.pem'),
    'http://127.0.0.1:8420': `http://127.0.0.1:${port}`,
    'allow 10.0.0.0/8': `allow ${administrators}`,
  })
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((it) => `${it}_temp_path ${within(it)};\n`)
  const settings = `pid ${within('pid')};\ndaemon off;\nworker_processes 1;\nevents {}\n`
  writeFileSync(within('nginx.conf'), `${settings}http {\naccess_log off;\n${temporary.join('')}${site}}\n`)
  const args = ['-p', folder, '-c', within('nginx.conf'), '-e', 'stderr']
  const child = spawn(findProgram('nginx') as string, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const killNow = () => void child.kill('SIGTERM')
  process.once('exit', killNow)
  let log = ''
  child.stderr.on('data', (bytes: Buffer) => (log += bytes))
  const gone = once(child, 'close')
  while (!(await isListening(own))) {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${log}`)
    await wait(10)
  }
  return {
    port: own,
    async remove() {
      killNow()
      await gone
      process.off('exit', killNow)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.once('error', () => resolve(false)).once('connect', () => socket.destroy())
  })
