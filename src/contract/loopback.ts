/** True for a host that names this machine: localhost, 127.0.0.0/8 or ::1, without brackets. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
