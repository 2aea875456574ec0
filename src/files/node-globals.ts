import { Buffer } from 'node:buffer'

// In the bundle, a module that uses one of these globals imports it from here or from abort-controller.ts
// (build/bundle.js), because test runners with a browser's globals (jsdom, happy-dom) lack or replace them. No module of
// Node exports them.

/** The base class of Node's Buffer, for which packages check with `instanceof`. */
export const Uint8Array = Object.getPrototypeOf(Buffer) as typeof globalThis.Uint8Array
/** Clones JSON values only: jose needs no others. */
export const structuredClone = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
