import type { Connection } from './connection.js'

/** Connections between two deliveries, by origin and address. One that ends meanwhile leaves by itself. */
export class KeptConnections {
  readonly #idle = new Map<string, Connection[]>()

  /** The one that was used last, so that the others end when there is less to do. */
  take(key: string): Connection | undefined {
    const connections = this.#idle.get(key)
    const connection = connections?.pop()
    if (connections?.length === 0) this.#idle.delete(key)
    if (connection !== undefined) connection.onEnd = undefined
    return connection
  }

  keep(key: string, connection: Connection): void {
    const connections = this.#idle.get(key)
    if (connections === undefined) this.#idle.set(key, [connection])
    else connections.push(connection)
    connection.onEnd = () => this.#drop(key, connection)
  }

  get size(): number {
    return [...this.#idle.values()].reduce((sum, connections) => sum + connections.length, 0)
  }

  async destroy(): Promise<void> {
    const connections = [...this.#idle.values()].flat()
    this.#idle.clear()
    await Promise.all(connections.map((connection) => connection.destroy()))
  }

  #drop(key: string, connection: Connection): void {
    const others = this.#idle.get(key)?.filter((it) => it !== connection) ?? []
    if (others.length > 0) this.#idle.set(key, others)
    else this.#idle.delete(key)
    void connection.destroy()
  }
}
