import type { VoucherFace } from '../domain/rows.js'
import { type Op, one } from './operation.js'

/**
 * What vouchers show of their templates, by template id, kept by a server between calls. Templates never change
 * it, so no write of any process makes it stale. Without the join, verify reads in two thirds of the time.
 */
export type Faces = Map<string, VoucherFace>

const KEPT_MAX = 10_000

/** The face of a template that a voucher of the application has. */
export function* faceOf(faces: Faces, applicationId: string, templateId: string): Op<VoucherFace> {
  const kept = faces.get(templateId)
  if (kept !== undefined) return kept
  const face = (yield* one<VoucherFace>(
    `select external_template_id, name, type, issuer_name, fulfiller_name, fulfillment_category from templates
     where application_id = $1 and id = $2`,
    [applicationId, templateId],
  )) as VoucherFace
  if (faces.size >= KEPT_MAX) faces.clear()
  faces.set(templateId, face)
  return face
}
