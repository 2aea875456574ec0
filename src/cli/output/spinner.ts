/** A named export, because the CommonJS bundle resolves the default export of a dynamic import wrongly. */
export { default as ora } from 'ora'
