/** A failure of the library itself; `code` tells which. */
export class TestingError extends Error {
  override readonly name = 'TestingError'
  readonly code: 'SERVER_CLOSED' | 'TEST_CLOCK_OFF' | 'UPDATE_NOT_RECEIVED' | 'BOT_UNUSABLE' | 'NO_PORT'

  constructor(code: TestingError['code'], message: string) {
    super(message)
    this.code = code
  }
}
