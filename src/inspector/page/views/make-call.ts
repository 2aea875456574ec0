import { API, call, type Result } from '../api.js'
import { type PlannedCall, pathOf } from '../model/planned-call.js'

/** Makes a planned call of the operator API. */
export const makeCall = <Data>(planned: PlannedCall): Promise<Result<Data>> =>
  call(planned.method, pathOf(planned).slice(API.length), planned.body ?? {})
