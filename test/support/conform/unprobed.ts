/** Chapters of the rules with none for a platform, with the reason. */
export const chaptersWithoutProbes: Readonly<Record<string, string>> = {
  Operator: 'The operator API is outside of the specified interface.',
  'Running a server': 'These rules concern the reference server alone.',
  'The command line': 'These rules concern this program.',
  'Webhooks on this machine': 'These rules concern this program.',
}

/** Rules in the other chapters that no probe can observe, with the reason. */
export const unprobed: Readonly<Record<string, string>> = {
  success: 'A rule of clients: what they accept as a success.',
  'borrowed-webhooks': 'Not part of the specified interface.',
  'health-routes': 'Not part of the specified interface.',
  'limits-by-address': 'These limits show only when they are exceeded, which a run never does.',
  'delivery-slots': 'A limit of 1,000 concurrent attempts: a run would need hundreds of bots with slow receivers.',
  'session-limits': 'Limits of 50,000 sessions and 1,000,000 replay marks: a run may open 30 sessions a minute.',
  'server-keys': 'The operator rotates keys: no call of the interface does.',
  'client-modes': 'A rule of clients: what they encrypt, repeat and refuse.',
  'key-pins': 'A rule of clients: which keys of a server they accept.',
  'clock-set-back': 'No call sets the clock of a platform.',
  'update-ids': 'A rule of commands: which batches of updates they accept.',
  'polls-that-are-not-held': 'A rule of commands: how often they poll a server that does not hold polls.',
}
