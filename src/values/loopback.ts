/** True for a host that names this machine: localhost, 127.0.0.0/8 or ::1, with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  return /^(localhost|::1|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(host)
}
