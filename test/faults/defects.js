/** Deliberate bugs that `node test/faults/plant.js` plants one at a time; the campaign of the row must find each. */
export const defects = [
  {
    row: 'R19',
    name: 'a commit is not awaited',
    file: 'src/store/postgres/pool.ts',
    from: 'new Pool({ ...config, ',
    to: "new Pool({ ...config, options: '-c synchronous_commit=off', ",
  },
  {
    row: 'R19',
    name: 'a claim is repeated',
    file: 'src/server/delivery/worker.ts',
    from: 'for (const attempt of result.begun) this.#begin(attempt)',
    to: 'for (const attempt of [...result.begun, ...result.begun]) this.#begin(attempt)',
  },
  {
    row: 'R19',
    name: 'a wake-up is lost after a failover',
    file: 'src/store/postgres/listen.ts',
    from: '        () => this.#handlers.missed(),\n',
    to: '        () => {},\n',
  },
  {
    row: 'R19',
    name: 'connections to a former primary are kept',
    file: 'src/store/postgres/primary.ts',
    from: 'if (older < timeline) closeNow(other)',
    to: 'if (older > timeline) closeNow(other)',
  },
]
