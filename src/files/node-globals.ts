import { Buffer } from 'node:buffer'

// In the bundle, each module that names one of these globals gets that of this file or of abort-controller.ts
// (build/bundle.js): test runners with the globals of a browser (jsdom, happy-dom) lack it or have another one. No module
// of Node exports these.

/** The class of Node's buffers: packages check for it. */
export const Uint8Array = Object.getPrototypeOf(Buffer) as typeof globalThis.Uint8Array
/** Clones JSON values only: jose needs no others. */
export const structuredClone = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
