/** Re-exported by name, because in the CommonJS bundle a dynamic import resolves a default export wrongly. */
export { default as ora } from 'ora'
