import { TestingError } from './arguments.js'

/** Refuses calls of a closed server, and of one that closes while they run. */
export class Lifetime {
  #closing: Promise<void> | undefined

  /** @throws TestingError when the server is closed */
  readonly requireOpen = (): void => {
    if (this.#closing !== undefined) throw this.closedError()
  }

  /** Runs a call that closing the server may interrupt. */
  async whileOpen<T>(call: () => Promise<T>): Promise<T> {
    this.requireOpen()
    try {
      return await call()
    } catch (error) {
      this.requireOpen()
      throw error
    }
  }

  /** Runs `close` once. */
  end(close: () => Promise<void>): Promise<void> {
    this.#closing ??= close()
    return this.#closing
  }

  closedError(): TestingError {
    return new TestingError('SERVER_CLOSED', 'This server was closed: start another one with startServer')
  }
}
