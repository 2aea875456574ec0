/** Rules of the groups of probes that no probe can observe, with the reason. */
export const unprobed: Readonly<Record<string, string>> = {
  success: 'A rule of clients: what they accept as a success.',
  'health-routes': 'Not part of the specified interface.',
}
