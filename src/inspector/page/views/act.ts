import { call } from '../api.js'
import { announce } from '../state.js'

/** Makes a call that changes something, and announces the success or the failure. */
export async function act(method: string, path: string, body: object, done: string): Promise<boolean> {
  const result = await call(method, path, body)
  announce(result.ok ? done : result.sentence)
  return result.ok
}
